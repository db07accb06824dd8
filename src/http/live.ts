/** The requests that wait for changes of streams, and the limits on them. */

import type { SeenState, ServedPort } from '../streams/port/port.js'
import type { PacedWork } from '../support/paced-work.js'
import { Turns } from '../support/turns.js'
import { clearTimeout, setTimeout } from '../timers.js'
import type { Exchange } from './exchange.js'
import { busy, tooMany } from './http-error.js'
import type { ResolvedHandlerOptions } from './options.js'

/** The number of events that are read at the same time for subscribers with all data. Each takes memory. */
const DELIVERIES = 8
/** How long a count of a tenant's streams is used. */
const COUNT_MS = 1000

interface Count {
  readonly found: Promise<number>
  isFound: boolean
  /** The number of streams that were created since the count, less that of deleted ones. */
  admitted: number
}

/** The open live requests of a tenant, the oldest first: the functions that end them. */
type Enders = Set<() => void>

export interface Subscriber {
  /** The seq after the last record that the subscriber has received. */
  next: number
  /** The lowest cursor that the subscriber may get; 0 if any is allowed. */
  readonly leastCursor: number
  /** Sends `events`, with which the subscriber has all records before `next`. */
  push(events: readonly Buffer[], next: number): void
  /** Reads the missing data separately, then joins again. */
  catchUp(): void
  /** Ends the connection: there is nothing more to send. */
  finish(): void
}

/** The subscribers of one stream that have all its data. */
export interface Subscribers {
  join(subscriber: Subscriber): void
  leave(subscriber: Subscriber): void
}

export class Live {
  /** The number of open live requests. */
  open = 0
  isClosing = false
  /** Not shared with reads for requests, whose number would delay deliveries. */
  readonly deliveries: Turns = new Turns(DELIVERIES)
  readonly #access: ServedPort
  readonly #options: ResolvedHandlerOptions
  readonly #work: PacedWork
  /** Those of each stream that has subscribers with all data, by name. */
  readonly broadcasts: Map<string, Subscribers> = new Map()
  /** The counts of streams that are in use, by the tenant's scope. */
  readonly counts: Map<string, Count> = new Map()
  /** By the tenant's scope. */
  readonly #enders = new Map<string, Enders>()

  constructor(access: ServedPort, options: ResolvedHandlerOptions, work: PacedWork) {
    this.#access = access
    this.#options = options
    this.#work = work
  }

  /**
   * Admits a live request of the tenant `scope`, which `end` ends: when the server closes, or for a request of a tenant
   * that has fewer. Throws if there are too many. Returns a function to call when the request has ended.
   */
  admit(scope: string, end: () => void): () => void {
    if (this.isClosing) throw busy('the server is shutting down: repeat the request later')
    if (this.open >= this.#options.maxLive) this.#makeRoom(scope)
    const own = this.#enders.get(scope) ?? new Set()
    this.#enders.set(scope, own.add(end))
    this.open++
    return () => this.#remove(scope, own, end)
  }

  #remove(scope: string, enders: Enders, end: () => void): void {
    if (!enders.delete(end)) return
    this.open--
    if (enders.size === 0) this.#enders.delete(scope)
  }

  /** Ends the oldest request of the tenant that has most. Throws if that tenant would then have fewer than `scope`. */
  #makeRoom(scope: string): void {
    let [largest, most]: [string, Enders | undefined] = ['', undefined]
    for (const [other, enders] of this.#enders) if (enders.size > (most?.size ?? 0)) [largest, most] = [other, enders]
    const [oldest] = most ?? []
    if (most === undefined || oldest === undefined || most.size < (this.#enders.get(scope)?.size ?? 0) + 2)
      throw busy('too many live reads are open: repeat the request later', 5)
    this.#remove(largest, most, oldest)
    oldest()
  }

  /** Admits a new stream. Throws if the tenant has as many streams as it may have. */
  async admitStream(scope: string): Promise<void> {
    const { maxStreams } = this.#options
    if (maxStreams === Number.POSITIVE_INFINITY) return
    let count = this.counts.get(scope)
    if (count === undefined) {
      // Concurrent requests share one count; with separate counts, each would admit up to the limit.
      count = { found: Promise.resolve(this.#access.count(scope)), isFound: false, admitted: 0 }
      this.counts.set(scope, count)
      setTimeout(() => this.counts.delete(scope), COUNT_MS).unref()
    }
    const found = await count.found
    count.isFound = true
    if (found + count.admitted >= maxStreams)
      throw tooMany(`there are ${maxStreams} streams, which is the limit: delete one first`)
    count.admitted++
  }

  /** A stream of the tenant was deleted, or an admitted one was not created. */
  forgetStream(scope: string): void {
    const count = this.counts.get(scope)
    if (count?.isFound === true) count.admitted--
    // It is not known whether the stream will be counted.
    else this.counts.delete(scope)
  }

  /**
   * Settles when the state of the stream differs from `seen`, after `longPollMs`, when the client disconnects, or when
   * the request is ended, see `admit`.
   */
  waitForChange(seen: SeenState, exchange: Exchange): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer)
        forget()
        leave()
        resolve()
      }
      const leave = this.admit(exchange.scope, finish)
      // Many requests may wait for one change, or for one time.
      const wake = (): void => this.#work.run(finish)
      const timer = setTimeout(wake, this.#options.longPollMs)
      const forget = this.#access.onChange(seen, wake)
      exchange.onEnd(finish)
    })
  }

  close(): void {
    this.isClosing = true
    for (const enders of [...this.#enders.values()]) for (const end of [...enders]) this.#work.run(end)
  }
}
