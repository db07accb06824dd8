/** A queue on a ring: push and shift take constant time. */
export class Deque<T> {
  #items: (T | undefined)[] = new Array(16).fill(undefined)
  #head = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  push(item: T): void {
    if (this.#size === this.#items.length) this.#grow()
    this.#items[(this.#head + this.#size) & (this.#items.length - 1)] = item
    this.#size++
  }

  peek(): T | undefined {
    return this.#size === 0 ? undefined : this.#items[this.#head]
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head] = undefined
    this.#head = (this.#head + 1) & (this.#items.length - 1)
    this.#size--
    return item
  }

  #grow(): void {
    const { length } = this.#items
    const next: (T | undefined)[] = new Array(length * 2).fill(undefined)
    for (let i = 0; i < this.#size; i++) next[i] = this.#items[(this.#head + i) & (length - 1)]
    this.#items = next
    this.#head = 0
  }
}
