/**
 * Counts and limits the bytes that wait in memory for clients: bodies of requests that are not answered, and answers
 * that are not read.
 */
import type { DropReason } from './types.js'

/** The bytes that wait for one client. */
export interface Held {
  /** The number of bytes that are counted. */
  held: number
  /** Closes the connection of the client. */
  drop(reason: DropReason): void
}

export class Buffered {
  /** The bytes that are counted for all clients. */
  bytes = 0
  readonly #maxBytes: number
  /** The clients that can be dropped, in the order in which they began to wait. */
  readonly #slow = new Map<Held, DropReason>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * Counts `bytes` more for `one`. With a `reason` they wait for its client, which may be dropped later. If all bytes
   * exceed the limit, drops the clients that have waited for the longest time. Returns false if the limit is still
   * exceeded.
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

  /** The bytes of `one` are not in memory any more. */
  release(one: Held): void {
    if (one.held === 0) return
    this.bytes -= one.held
    one.held = 0
    this.#slow.delete(one)
  }
}
