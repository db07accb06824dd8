/** The memory of records that wait. Their caller may change its own memory as soon as the call has returned. */
import { types } from 'node:util'
import type { Payload } from '../../types.js'

const SLAB_BYTES = 2 ** 20
/** Records with more bytes are copied to separate memory. */
const SHARED_MAX_BYTES = SLAB_BYTES / 4
/** Free slabs that are kept: the first use of new memory takes longer than copying into it. */
const MAX_FREE_SLABS = 32

interface HeldSlab {
  readonly memory: Buffer
  used: number
  /** The number of calls whose records are in the slab. */
  calls: number
}

/** The records of one call, as they were during the call. */
export interface HeldRecords<T> {
  readonly records: readonly T[]
  /** To be called once, when `records` are not needed any more: their memory is used again. */
  release(): void
}

export class HeldMemory {
  /** The number of bytes in use. */
  bytes = 0
  #slab: HeldSlab | undefined
  readonly #free: HeldSlab[] = []

  /** Copies records of `bytes` bytes. Strings cannot change and are not copied, but they count. */
  hold<T extends Payload>(records: readonly T[], bytes: number): HeldRecords<T | Buffer> {
    this.bytes += bytes
    if (!records.some(types.isUint8Array)) return { records, release: () => this.#forget(bytes) }
    if (bytes > SHARED_MAX_BYTES)
      return {
        records: records.map((data) => (typeof data === 'string' ? data : Buffer.from(data))),
        release: () => this.#forget(bytes),
      }
    const slab = this.#withRoom(bytes)
    slab.calls++
    const own = records.map((data) => (typeof data === 'string' ? data : copied(data, slab)))
    const release = (): void => {
      this.#forget(bytes)
      if (--slab.calls > 0) return
      slab.used = 0
      if (slab !== this.#slab && this.#free.length < MAX_FREE_SLABS) this.#free.push(slab)
    }
    return { records: own, release }
  }

  #withRoom(bytes: number): HeldSlab {
    if (this.#slab === undefined || this.#slab.used + bytes > SLAB_BYTES)
      this.#slab = this.#free.pop() ?? { memory: Buffer.allocUnsafeSlow(SLAB_BYTES), used: 0, calls: 0 }
    return this.#slab
  }

  #forget(bytes: number): void {
    this.bytes -= bytes
  }
}

function copied(data: Uint8Array, slab: HeldSlab): Buffer {
  const start = slab.used
  slab.memory.set(data, start)
  slab.used += data.length
  return slab.memory.subarray(start, slab.used)
}
