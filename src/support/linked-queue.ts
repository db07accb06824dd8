/** A queue from which any item can be removed in constant time. */

interface QueuedItem<T> {
  readonly item: T
  previous: QueuedItem<T> | undefined
  next: QueuedItem<T> | undefined
  left: boolean
}

export class LinkedQueue<T> {
  #first: QueuedItem<T> | undefined
  #last: QueuedItem<T> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Returns a function that removes the item, if it is still in the queue. */
  push(item: T): () => void {
    return this.#insert(item, this.#last)
  }

  /**
   * As `push`, but inserts the item after the last one for which `precedes` returns true. If that is false for the
   * first item, it must be false for all.
   */
  insertAfter(precedes: (other: T) => boolean, item: T): () => void {
    if (this.#first === undefined || !precedes(this.#first.item)) return this.#insert(item, undefined)
    let previous = this.#last
    while (previous !== undefined && !precedes(previous.item)) previous = previous.previous
    return this.#insert(item, previous)
  }

  peek(): T | undefined {
    return this.#first?.item
  }

  shift(): T | undefined {
    const first = this.#first
    if (first !== undefined) this.#remove(first)
    return first?.item
  }

  /** Removes the items for which `leaves` returns true, and returns them in order. */
  removeIf(leaves: (item: T) => boolean): T[] {
    const removed: T[] = []
    for (let entry = this.#first; entry !== undefined; entry = entry.next) {
      if (!leaves(entry.item)) continue
      this.#remove(entry)
      removed.push(entry.item)
    }
    return removed
  }

  #insert(item: T, previous: QueuedItem<T> | undefined): () => void {
    const next = previous === undefined ? this.#first : previous.next
    const entry: QueuedItem<T> = { item, previous, next, left: false }
    if (previous === undefined) this.#first = entry
    else previous.next = entry
    if (next === undefined) this.#last = entry
    else next.previous = entry
    this.#size++
    return () => this.#remove(entry)
  }

  #remove(entry: QueuedItem<T>): void {
    if (entry.left) return
    entry.left = true
    if (entry.previous === undefined) this.#first = entry.next
    else entry.previous.next = entry.next
    if (entry.next === undefined) this.#last = entry.previous
    else entry.next.previous = entry.previous
    this.#size--
  }
}
