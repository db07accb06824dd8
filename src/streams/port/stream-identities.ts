/**
 * The identities of the streams of a folder. They depend on its log, and on the restores and cuts that have replaced
 * records of it. A copy of the folder that another program has made has the identities of the original.
 */
import { createHash } from 'node:crypto'

const DIGITS = 16
const REMEMBERED_MAX = 1024

export class StreamIdentities {
  readonly uuid: string
  readonly generation: number
  readonly #high: number
  readonly #low: number
  /** Recent results, because each answer to an append needs one. */
  readonly #remembered = new Map<number, string>()

  constructor(uuid: string, generation: number) {
    this.uuid = uuid
    this.generation = generation
    const hash = createHash('sha256').update(`${uuid} ${generation}`).digest()
    this.#high = hash.readInt32LE(0)
    this.#low = hash.readInt32LE(4)
  }

  /**
   * Returns 16 digits that belong to the stream that the entry at `created` created, and to no other stream: also not
   * to an earlier or later one with the same name. They are not all zero.
   */
  of(created: number): string {
    let digits = this.#remembered.get(created)
    if (digits === undefined) {
      digits = this.#digitsOf(created)
      if (this.#remembered.size === REMEMBERED_MAX) this.#remembered.clear()
      this.#remembered.set(created, digits)
    }
    return digits
  }

  #digitsOf(created: number): string {
    const high = mixed(this.#high, created)
    const low = mixed(this.#low ^ high, created)
    // 53 bits have at most 16 digits.
    return String((high & 0x1fffff) * 2 ** 32 + (low >>> 0) || 1).padStart(DIGITS, '0')
  }
}

/** Mixes the bits of `seed` with those of `created`, as MurmurHash3 does. */
function mixed(seed: number, created: number): number {
  let hash = seed
  for (const word of [created | 0, Math.floor(created / 2 ** 32) | 0]) {
    hash = Math.imul(hash ^ Math.imul(word, 0xcc9e2d51), 0x85ebca6b)
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
    hash ^= hash >>> 16
  }
  return hash
}
