/** The memory of records that wait. Their caller may change its own memory as soon as the call has returned. */
import { types } from 'node:util'
import { HELD_CALL_BYTES, HELD_MAX_BYTES } from '../../options/call-options.js'
import type { Payload } from '../../types.js'
import { noRoom } from './core-calls.js'

const SLAB_BYTES = 2 ** 20
/** Records with more bytes are copied to separate memory. */
const SHARED_MAX_BYTES = SLAB_BYTES / 4
/** The bytes that a copy takes besides its data: a Buffer. */
const RECORD_BYTES = 96
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
  /** The number of bytes in use, with those of the objects around the records. */
  bytes = 0
  readonly #what: string
  #slab: HeldSlab | undefined
  readonly #free: HeldSlab[] = []

  /** `what` names the calls in messages. */
  constructor(what: string) {
    this.#what = what
  }

  /**
   * Copies the records of one call, which have `dataBytes` bytes. Strings cannot change and are not copied, but they
   * count. Throws ERR_DURLOG_BACKPRESSURE if other calls hold so much that this one has no room. A single call always
   * has room.
   */
  hold<T extends Payload>(records: readonly T[], dataBytes: number): HeldRecords<T | Buffer> {
    const bytes = HELD_CALL_BYTES + records.length * RECORD_BYTES + dataBytes
    if (this.bytes > 0 && this.bytes + bytes > HELD_MAX_BYTES)
      throw noRoom(`${this.#what} hold ${this.bytes} bytes, of at most ${HELD_MAX_BYTES}`)
    this.bytes += bytes
    if (!records.some(types.isUint8Array)) return { records, release: () => this.#forget(bytes) }
    if (dataBytes > SHARED_MAX_BYTES)
      return {
        records: records.map((data) => (typeof data === 'string' ? data : Buffer.from(data))),
        release: () => this.#forget(bytes),
      }
    const slab = this.#withRoom(dataBytes)
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
