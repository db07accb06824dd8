/** The requests that have not been answered. */
import type { Exchange } from './exchange.js'

/**
 * An array, in which each exchange knows its place. A Set would keep answered requests in memory until a full garbage
 * collection: when it grows, V8 links the old table, with its entries, to the new one.
 */
export class ActiveRequests {
  readonly #exchanges: Exchange[] = []

  get size(): number {
    return this.#exchanges.length
  }

  get all(): Exchange[] {
    return [...this.#exchanges]
  }

  add(exchange: Exchange): void {
    exchange.place = this.#exchanges.push(exchange) - 1
  }

  /** Returns false if it was deleted before. The last exchange takes the place of the removed one. */
  delete(exchange: Exchange): boolean {
    const { place } = exchange
    if (place === -1) return false
    const last = this.#exchanges.pop() as Exchange
    if (last !== exchange) this.#exchanges[place] = last
    last.place = place
    exchange.place = -1
    return true
  }
}
