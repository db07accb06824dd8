/** Work that is done one piece after the other. */
export class Turns {
  /** Settles when all that was given has; undefined where it has. */
  #last: Promise<void> | undefined

  /** Starts `work` when everything that was given before has settled: in this call where that is so. */
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
