/** Runs pieces of asynchronous work one after the other. */
export class Turns {
  /** Settles when all work so far has; undefined if it already has. */
  #last: Promise<void> | undefined

  /** Starts `work` when all earlier work has settled: within this call if it already has. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last === undefined ? work() : this.#last.then(work)
    const last = turn
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        if (this.#last === last) this.#last = undefined
      })
    this.#last = last
    return turn
  }
}
