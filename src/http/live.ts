/** Requests that wait for changes of streams, and the limits on them. */
import { clearTimeout, setTimeout } from 'node:timers'
import type { KnownState, StreamsAccess } from '../streams/access.js'
import type { Exchange } from './exchange.js'
import type { ResolvedHandlerOptions } from './options.js'
import { busy, tooMany } from './refusal.js'
import type { Tail } from './tail.js'

/** How long a count of a tenant's streams is used. */
const COUNT_MS = 1000

interface Count {
  readonly found: Promise<number>
  readonly atMs: number
  /** The streams that were admitted since. */
  admitted: number
}

export class Live {
  /** Live requests that are open. */
  open = 0
  isClosing = false
  readonly #access: StreamsAccess
  readonly #options: ResolvedHandlerOptions
  /** Of streams with subscribers that have all data. */
  readonly tails: Map<string, Tail> = new Map()
  readonly #enders = new Set<() => void>()
  readonly #counts = new Map<string, Count>()

  constructor(access: StreamsAccess, options: ResolvedHandlerOptions) {
    this.#access = access
    this.#options = options
  }

  /** Throws if there are too many live requests; returns what must be called when this one ends. */
  admit(): () => void {
    if (this.isClosing) throw busy('the server is shutting down')
    if (this.open >= this.#options.maxLive) throw busy('too many live reads are open', 5)
    this.open++
    return () => {
      this.open--
    }
  }

  /** Throws if the tenant may have no more streams. */
  async admitStream(scope: string): Promise<void> {
    const { maxStreams } = this.#options
    if (maxStreams === Number.POSITIVE_INFINITY) return
    const nowMs = Date.now()
    let count = this.#counts.get(scope)
    if (count === undefined || nowMs - count.atMs > COUNT_MS) {
      // Requests at the same time share one count: each would admit as many streams.
      count = { found: Promise.resolve(this.#access.count(scope)), atMs: nowMs, admitted: 0 }
      this.#counts.set(scope, count)
    }
    const found = await count.found
    if (found + count.admitted >= maxStreams) throw tooMany(`there are ${maxStreams} streams, which is the limit`)
    count.admitted++
  }

  /** Settles when the stream is not in the state `known`, after `longPollMs`, when the client is gone, or when the server closes. */
  async waitForChange(known: KnownState, exchange: Exchange): Promise<void> {
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
        const forget = this.#access.onChange(known, finish)
        this.#enders.add(finish)
        exchange.onEnd(finish)
      })
    } finally {
      leave()
    }
  }

  /** Calls `end` when the server closes; returns what forgets it. */
  onClose(end: () => void): () => void {
    this.#enders.add(end)
    return () => this.#enders.delete(end)
  }

  close(): void {
    this.isClosing = true
    for (const end of [...this.#enders]) end()
  }
}
