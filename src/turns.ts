/** Runs pieces of asynchronous work one after the other. */
export class Turns {
  /** Settles when all work so far has; undefined if it already has. */
  #last: Promise<void> | undefined

  get busy(): boolean {
    return this.#last !== undefined
  }

  /** Starts `work` when all earlier work has settled: within this call if it already has. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last === undefined ? work() : this.#last.then(work)
    const leave = (): void => {
      if (this.#last === last) this.#last = undefined
    }
    const last = turn.then(leave, leave)
    this.#last = last
    return turn
  }
}
