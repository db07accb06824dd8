// The changes that only a process makes that has the log alone.
import { contentOf } from '../content.mjs'
import { note } from '../notes.mjs'
import { between, pick } from '../random.mjs'
import { listingOf, openedNote } from './listing.mjs'
import { IDS_OF_A_MEMBER, VOID } from './model.mjs'

/** Truncations that are not at a void cut at most this many seqs. */
const MOST_CUT = 12

export class LoneWriter {
  #log
  #seed
  #random
  #nextId

  /** `log` is a `RestoringLog`. */
  constructor(log, seed, member, random) {
    this.#log = log
    this.#seed = seed
    this.#random = random
    this.#nextId = member * IDS_OF_A_MEMBER
  }

  /** Some records and batches, which a truncation must not cut. */
  async append() {
    for (let i = between(this.#random, 1, 3); i > 0; --i) {
      const lengths = Array.from({ length: pick(this.#random, [1, 1, 3]) }, () => between(this.#random, 4, 3000))
      const id = this.#nextId
      this.#nextId += lengths.length
      const durability = this.#random() < 0.5 ? 'sync' : 'memory'
      note(`i ${id} ${lengths.join(' ')}`)
      const records = lengths.map((length, k) => contentOf(this.#seed, id + k, length))
      const { first } = await this.#log.appendBatch(records, { durability })
      note(`a ${first} ${id} ${lengths.length} ${durability}`)
    }
  }

  /** A void as a killed writer leaves one. */
  async takeVoid() {
    const seqs = between(this.#random, 1, 6)
    note(`v ${seqs}`)
    await this.#log.skipTo(this.#log.nextSeq + seqs, Date.now())
    if (this.#random() < 0.7) await this.append()
  }

  /** Cuts before, within or after a void, at the end of the log, or anywhere; a cut within a batch is refused. */
  async truncate() {
    const log = this.#log
    const { first, next, ids } = await listingOf(log)
    const atVoids = ids.flatMap((id, i) => (id === VOID ? [first + i, first + i + 1] : []))
    const inVoid = atVoids.length > 0 && this.#random() < 0.6
    const end = inVoid ? pick(this.#random, atVoids) : between(this.#random, Math.max(first, next - MOST_CUT), next)
    note(`t ${end}`)
    try {
      const found = await log.truncateAfter(end - 1)
      if (found !== end) throw new Error(`a truncation to seq ${end} ended at ${found}`)
      note(`T ${end}`)
    } catch (error) {
      if (error.code !== 'ERR_DURLOG_INVALID_ARGUMENT') throw error
      note(openedNote(await listingOf(log)))
    }
  }
}
