/**
 * A truncation of a log's end. Each object links to the next one, so that a holder of one object finds all later ones.
 */
export class Truncation {
  /** The log's next seq right after this truncation. */
  readonly nextSeq: number
  #later: Truncation | undefined

  constructor(nextSeq: number) {
    this.nextSeq = nextSeq
  }

  followedBy(nextSeq: number): Truncation {
    this.#later = new Truncation(nextSeq)
    return this.#later
  }

  /** The lowest `nextSeq` of the truncations after this one; Infinity if there is none. */
  lowestLater(): number {
    let lowest = Number.POSITIVE_INFINITY
    for (let cut = this.#later; cut !== undefined; cut = cut.#later) lowest = Math.min(lowest, cut.nextSeq)
    return lowest
  }
}
