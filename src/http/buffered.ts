/**
 * The account of the memory that clients take: the bodies that they send, and the answers and events that they have not
 * read. Each connection counts what it holds now. An event that several connections hold counts for each of them.
 */
import { setImmediate } from '../timers.js'
import type { DropReason } from './types.js'

/** The memory of one connection. */
export interface Held {
  /** The tenant and a slash; '' without a tenant. */
  readonly scope: string
  /** The number of bytes that are counted. */
  held: number
  /** The bytes that the client has not read. */
  readonly unread: number
  /** Closes the connection of the client. */
  drop(reason: DropReason): void
}

/** The memory of the clients of one tenant. */
interface Share {
  bytes: number
  /** The clients that can be dropped, in the order in which they began to wait. */
  readonly slow: Map<Held, DropReason>
}

export class Buffered {
  /** The bytes that are counted for all clients. */
  bytes = 0
  readonly #maxBytes: number
  readonly #shares = new Map<string, Share>()
  #checksLater = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * `one` holds `bytes` now. With a `reason` they wait for its client, which may be dropped for lack of memory.
   */
  hold(one: Held, bytes: number, reason?: DropReason): void {
    if (bytes === 0) {
      this.release(one)
      return
    }
    const { scope } = one
    let share = this.#shares.get(scope)
    if (share === undefined) {
      share = { bytes: 0, slow: new Map() }
      this.#shares.set(scope, share)
    }
    const more = bytes - one.held
    one.held = bytes
    share.bytes += more
    this.bytes += more
    if (reason === undefined) share.slow.delete(one)
    else share.slow.set(one, reason)
    if (this.bytes > this.#maxBytes && !this.#checksLater) {
      this.#checksLater = true
      // Later, because node:http passes the writes of one turn to their sockets at its end.
      setImmediate(() => {
        this.#checksLater = false
        this.#makeRoom()
      })
    }
  }

  /** Drops other clients until there is memory for what `one` holds. Returns false if there is none for it. */
  fits(one: Held): boolean {
    return this.#makeRoom(one)
  }

  /** The bytes of `one` are not in memory any more. */
  release(one: Held): void {
    if (one.held === 0) return
    const share = this.#shares.get(one.scope) as Share
    this.bytes -= one.held
    share.bytes -= one.held
    one.held = 0
    share.slow.delete(one)
    if (share.bytes === 0) this.#shares.delete(one.scope)
  }

  /**
   * Drops the clients that have waited for the longest time, of the tenants that hold most. Returns false if more of
   * them would have to be dropped than there are, or `kept`.
   */
  #makeRoom(kept?: Held): boolean {
    while (this.bytes > this.#maxBytes) {
      const slowest = this.#slowest(kept)
      if (slowest === undefined) return false
      const [one, reason] = slowest
      const { unread } = one
      // It has read since its last write.
      if (reason === 'slow-reader' && unread < one.held) this.hold(one, unread, reason)
      else {
        this.release(one)
        one.drop(reason)
      }
    }
    return true
  }

  #slowest(kept: Held | undefined): [Held, DropReason] | undefined {
    let largest: Share | undefined
    for (const [scope, share] of this.#shares)
      if ((share.slow.size > 0 || scope === kept?.scope) && share.bytes > (largest?.bytes ?? 0)) largest = share
    for (const entry of largest?.slow ?? []) if (entry[0] !== kept) return entry
    return undefined
  }
}
