/** One cut of a log's end. Each links to the next, so that a reader that holds one reaches all later ones. */
export class Cut {
  /** The log's next seq right after it. */
  readonly nextSeq: number
  #later: Cut | undefined

  constructor(nextSeq: number) {
    this.nextSeq = nextSeq
  }

  followedBy(nextSeq: number): Cut {
    this.#later = new Cut(nextSeq)
    return this.#later
  }

  /** The lowest next seq of the cuts after this one; Infinity without any. */
  lowestLater(): number {
    let lowest = Number.POSITIVE_INFINITY
    for (let cut = this.#later; cut !== undefined; cut = cut.#later) lowest = Math.min(lowest, cut.nextSeq)
    return lowest
  }
}
