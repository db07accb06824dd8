/**
 * The gates of a history. A claim fails if an upload of the former writer is stored between the last list of the
 * claimer and its fence, and a writer that uploads without pauses may always be faster. So a writer creates the object
 * `gate/<number>` once in a number of uploads, with the next number, before the later uploads. A copy whose claim has
 * failed creates one of these objects in advance, and the writer stops there. Gates only stop a writer. The fence alone
 * decides where a history ends.
 */
import type { Bucket } from './bucket.js'
import { type Fence, fenceOrFind, readFence } from './fence.js'
import { digitsOf, type HistoryNames, seqOfKey } from './layout.js'

/** The number of uploads from one gate to the next one. */
const UPLOADS = 32
/** The furthest gate that a copy closes in advance. A writer passes as many in no less than 2,000 uploads. */
const FURTHEST = 64
/** The next gate is passed this many uploads in advance, so that no upload waits for it. */
const AHEAD = UPLOADS / 2

/** The gates that an archiver passes in one session. */
export class Gates {
  readonly #bucket: Bucket
  readonly #names: HistoryNames
  readonly #own: Fence
  /** The uploads since the last gate. */
  #uploads = 0
  /** The number of the last gate; undefined before the first one. */
  #number: number | undefined
  /** Settles when the next gate is passed. */
  #passing: Promise<void> | undefined
  #failure: { error: unknown } | undefined
  readonly #closedError: (generation: number) => Error

  /** `closedError` makes the error of a gate that a copy has closed which claims the history of `generation`. */
  constructor(bucket: Bucket, names: HistoryNames, own: Fence, closedError: (generation: number) => Error) {
    this.#bucket = bucket
    this.#names = names
    this.#own = own
    this.#closedError = closedError
  }

  /** Must be called before each upload. Throws if another copy has closed the gate. */
  async beforeUpload(): Promise<void> {
    this.#uploads++
    if (this.#uploads === UPLOADS - AHEAD) {
      this.#passing = this.#pass()
      this.#passing.catch((error: unknown) => {
        this.#failure = { error }
      })
    }
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#uploads < UPLOADS) return
    await this.#passing
    this.#uploads = 0
  }

  async #pass(): Promise<void> {
    const last = this.#number ?? (await this.#lastNumber())
    const gate = await fenceOrFind(this.#bucket, keyOf(this.#names, last + 1), this.#own)
    this.#checkOwner(gate)
    this.#number = last + 1
    await this.#bucket.delete(keyOf(this.#names, last))
  }

  async #lastNumber(): Promise<number> {
    const last = await findLast(this.#bucket, this.#names)
    if (last.gate !== undefined) this.#checkOwner(last.gate)
    return last.number
  }

  #checkOwner({ owner, generation }: Fence): void {
    if (owner !== this.#own.owner) throw this.#closedError(generation)
  }
}

/**
 * Closes a gate of a history, as its `closer`, so that the writer stops after a few uploads more. If it is as fast as
 * this call, closes a gate that is further away. Without success at the furthest one, the next claim calls it again.
 */
export async function closeGate(bucket: Bucket, names: HistoryNames, closer: Fence): Promise<void> {
  const { number, gate } = await findLast(bucket, names)
  let isClosed = gate?.owner === closer.owner
  for (let ahead = 1; !isClosed && ahead <= FURTHEST; ahead *= 2) {
    const found = await fenceOrFind(bucket, keyOf(names, number + ahead), closer)
    isClosed = found.owner === closer.owner
  }
}

/** The last gate of a history. Its number is 0 if there is none. */
async function findLast(bucket: Bucket, names: HistoryNames): Promise<{ number: number; gate: Fence | undefined }> {
  const { key = '' } = (await bucket.list(names.gates)).at(-1) ?? {}
  const number = seqOfKey(names.gates, key)
  return number === undefined ? { number: 0, gate: undefined } : { number, gate: await readFence(bucket, key) }
}

function keyOf({ gates }: HistoryNames, number: number): string {
  return `${gates}${digitsOf(number)}`
}
