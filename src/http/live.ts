/** The requests that wait for changes of streams, and the limits on them. */
import { clearTimeout, setTimeout } from 'node:timers'
import type { SeenState, StreamsAccess } from '../streams/access.js'
import type { Broadcast } from './broadcast.js'
import type { Exchange } from './exchange.js'
import { busy, tooMany } from './http-error.js'
import type { ResolvedHandlerOptions } from './options.js'

/** How long a count of a tenant's streams is used. */
const COUNT_MS = 1000

interface Count {
  readonly found: Promise<number>
  /** The number of streams that were admitted since the count. */
  admitted: number
}

export class Live {
  /** The number of open live requests. */
  open = 0
  isClosing = false
  readonly #access: StreamsAccess
  readonly #options: ResolvedHandlerOptions
  /** The Broadcasts of the streams that have subscribers with all data, by name. */
  readonly broadcasts: Map<string, Broadcast> = new Map()
  /** The counts of streams that are in use, by the tenant's scope. */
  readonly counts: Map<string, Count> = new Map()
  readonly #enders = new Set<() => void>()

  constructor(access: StreamsAccess, options: ResolvedHandlerOptions) {
    this.#access = access
    this.#options = options
  }

  /** Admits a live request. Throws if there are too many. Returns a function to call when the request ends. */
  admit(): () => void {
    if (this.isClosing) throw busy('the server is shutting down: repeat the request later')
    if (this.open >= this.#options.maxLive) throw busy('too many live reads are open: repeat the request later', 5)
    this.open++
    return () => {
      this.open--
    }
  }

  /** Admits a new stream. Throws if the tenant has as many streams as it may have. */
  async admitStream(scope: string): Promise<void> {
    const { maxStreams } = this.#options
    if (maxStreams === Number.POSITIVE_INFINITY) return
    let count = this.counts.get(scope)
    if (count === undefined) {
      // Concurrent requests share one count; with separate counts, each would admit up to the limit.
      count = { found: Promise.resolve(this.#access.count(scope)), admitted: 0 }
      this.counts.set(scope, count)
      setTimeout(() => this.counts.delete(scope), COUNT_MS).unref()
    }
    const found = await count.found
    if (found + count.admitted >= maxStreams)
      throw tooMany(`there are ${maxStreams} streams, which is the limit: delete one first`)
    count.admitted++
  }

  /**
   * Settles when the state of the stream differs from `seen`, after `longPollMs`, when the client disconnects, or when
   * the server closes.
   */
  async waitForChange(seen: SeenState, exchange: Exchange): Promise<void> {
    const leave = this.admit()
    try {
      await new Promise<void>((resolve) => {
        const finish = (): void => {
          clearTimeout(timer)
          forget()
          this.#enders.delete(finish)
          resolve()
        }
        const timer = setTimeout(finish, this.#options.longPollMs)
        const forget = this.#access.onChange(seen, finish)
        this.#enders.add(finish)
        exchange.onEnd(finish)
      })
    } finally {
      leave()
    }
  }

  /** Calls `end` when the server closes. Returns a function that cancels this. */
  onClose(end: () => void): () => void {
    this.#enders.add(end)
    return () => this.#enders.delete(end)
  }

  close(): void {
    this.isClosing = true
    for (const end of [...this.#enders]) end()
  }
}
