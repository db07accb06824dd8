/** One truncation of a log's end. Each links to the next, so that a holder of one sees all later ones. */
export class Truncation {
  /** The log's next seq after it. */
  readonly nextSeq: number
  #later: Truncation | undefined

  constructor(nextSeq: number) {
    this.nextSeq = nextSeq
  }

  followedBy(nextSeq: number): Truncation {
    this.#later = new Truncation(nextSeq)
    return this.#later
  }

  /** The lowest next seq of the cuts after this one; Infinity without any. */
  lowestLater(): number {
    let lowest = Number.POSITIVE_INFINITY
    for (let cut = this.#later; cut !== undefined; cut = cut.#later) lowest = Math.min(lowest, cut.nextSeq)
    return lowest
  }
}
