/** The bytes that wait in memory for clients: bodies of requests that are not answered, and answers that are not read. */
import type { DropReason } from './types.js'

/** What waits for one client. */
export interface Held {
  /** Bytes that are counted. */
  held: number
  drop(reason: DropReason): void
}

export class Buffered {
  bytes = 0
  readonly #maxBytes: number
  /** Those that wait for their clients, by the time since which they do. */
  readonly #slow = new Map<Held, DropReason>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * Counts `bytes` more for `one`, which may be dropped for `reason` later if they wait for its client. If there are too many bytes,
   * drops the clients that take longest; returns false if there still are.
   */
  hold(one: Held, bytes: number, reason?: DropReason): boolean {
    one.held += bytes
    this.bytes += bytes
    for (const [slow, slowReason] of this.#slow) {
      if (this.bytes <= this.#maxBytes) break
      if (slow === one) continue
      this.release(slow)
      slow.drop(slowReason)
    }
    if (reason !== undefined) this.#slow.set(one, reason)
    return this.bytes <= this.#maxBytes
  }

  /** The bytes of `one` do not wait for its client any more, but are still in memory. */
  keep(one: Held): void {
    this.#slow.delete(one)
  }

  release(one: Held): void {
    if (one.held === 0) return
    this.bytes -= one.held
    one.held = 0
    this.#slow.delete(one)
  }
}
