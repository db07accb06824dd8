/** Work that is done one piece after the other. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** Starts `work` when everything that was given before has settled. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }
}
