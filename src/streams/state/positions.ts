/** The positions of a stream's records that are not in its file yet, ascending. */

/** The positions of some records, ascending. */
export type PositionList = readonly number[] | Float64Array

const PAGE_LENGTH = 4096

/**
 * A list in pages: to add many positions moves no earlier ones, which would take milliseconds in one turn of the event
 * loop.
 */
export class Positions {
  /** Each but the last has PAGE_LENGTH positions. */
  #pages: number[][] = []
  /** The number of positions of the first page that were dropped. */
  #dropped = 0
  length = 0

  push(position: number): void {
    const page = this.#lastPage()
    page.push(position)
    this.length++
  }

  /** Adds `count` consecutive positions, from `first` on. */
  pushRun(first: number, count: number): void {
    for (let added = 0; added < count; ) {
      const page = this.#lastPage()
      const begin = page.length
      const end = Math.min(begin + count - added, PAGE_LENGTH)
      // Takes a quarter of the time of as many calls of `push`.
      page.length = end
      for (let at = begin; at < end; at++) page[at] = first + added++
    }
    this.length += count
  }

  /** The position with the index `index`, which must be below `length`. */
  at(index: number): number {
    const at = this.#dropped + index
    return (this.#pages[Math.floor(at / PAGE_LENGTH)] as number[])[at % PAGE_LENGTH] as number
  }

  /** A copy of the first `count` positions. */
  first(count: number): Float64Array {
    const copy = new Float64Array(count)
    for (let at = 0, from = this.#dropped; at < count; from = 0) {
      const page = this.#pages[Math.floor((this.#dropped + at) / PAGE_LENGTH)] as number[]
      const end = Math.min(from + count - at, page.length)
      copy.set(from === 0 && end === page.length ? page : page.slice(from, end), at)
      at += end - from
    }
    return copy
  }

  /** The positions after the first `count`, to which more are added. This object keeps those that it has. */
  after(count: number): Positions {
    const rest = new Positions()
    if (count === this.length) return rest
    const dropped = this.#dropped + count
    rest.#pages = this.#pages.slice(Math.floor(dropped / PAGE_LENGTH))
    rest.#dropped = dropped % PAGE_LENGTH
    rest.length = this.length - count
    return rest
  }

  #lastPage(): number[] {
    const last = this.#pages.at(-1)
    if (last !== undefined && last.length < PAGE_LENGTH) return last
    const page: number[] = []
    this.#pages.push(page)
    return page
  }
}
