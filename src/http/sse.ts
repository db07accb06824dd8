/**
 * GET with live=sse: sends the data so far, then follows the stream until it is closed or the connection's time is
 * over.
 */

import type { StreamView } from '../streams/port/port.js'
import { clearTimeout, setTimeout } from '../timers.js'
import { Broadcast } from './broadcast.js'
import { isText } from './chunk.js'
import { controlEvent, readEvent } from './events.js'
import type { BodySink, HeaderList } from './exchange.js'
import type { Subscriber, Subscribers } from './live.js'
import { currentCursor, cursorAfter } from './offset.js'
import { type HttpCall, reply, type Service } from './service.js'

/** While a subscriber that catches up has this many unread bytes, it gets no more data. */
const CATCH_UP_UNREAD = 1 << 16
/**
 * A subscriber with this many unread bytes leaves its Broadcast. More than CATCH_UP_UNREAD, because the subscribers of
 * a Broadcast share the memory of these bytes.
 */
const MAX_UNREAD = 1 << 20

interface SubscriptionStart {
  from: number
  cursor: number | undefined
}

export function subscribe(service: Service, call: HttpCall, state: StreamView, start: SubscriptionStart): void {
  const { exchange } = call
  // This status prevents that an EventSource of a browser connects again.
  if (exchange.header('last-event-id') !== undefined && state.endVisible && start.from === state.visible) {
    reply(service, call, 204, ['stream-closed', 'true', 'cache-control', 'no-store'])
    return
  }
  let subscription: Subscription | undefined
  const leave = service.live.admit(exchange.scope, () => subscription?.finishNow())
  const headers: HeaderList = [
    'content-type',
    'text/event-stream',
    'cache-control',
    // Without no-transform, compressing proxies and middleware hold events back.
    'no-cache, no-transform',
    'x-accel-buffering',
    'no',
  ]
  if (!isText(state)) headers.push('stream-sse-data-encoding', 'base64')
  for (const header of service.headers) headers.push(header)
  subscription = new Subscription(service, state, start, exchange.open(200, headers))
  exchange.onEnd(() => {
    subscription.close()
    leave()
  })
  subscription.catchUp()
}

class Subscription implements Subscriber {
  next: number
  readonly leastCursor: number
  readonly #service: Service
  /** The stream's state when it was last looked up. */
  #stream: StreamView
  readonly #sink: BodySink
  readonly #timer: NodeJS.Timeout
  #broadcast: Subscribers | undefined
  #isClosed = false

  constructor(service: Service, stream: StreamView, { from, cursor }: SubscriptionStart, sink: BodySink) {
    this.#service = service
    this.#stream = stream
    this.#sink = sink
    this.next = from
    const least = cursorAfter(cursor)
    this.leastCursor = least > currentCursor() ? least : 0
    this.#timer = setTimeout(() => this.finish(), service.options.sseMs)
  }

  push(events: readonly Buffer[], next: number): void {
    this.next = next
    for (const event of events) this.#sink.write(event)
    if (this.#sink.unread < MAX_UNREAD) return
    this.#broadcast?.leave(this)
    this.#broadcast = undefined
    void this.#waitThenCatchUp()
  }

  catchUp(): void {
    this.#service.work.run(() => {
      this.#run().catch(() => this.finish())
    })
  }

  finish(): void {
    if (this.#isClosed) return
    this.close()
    this.#sink.end()
  }

  /** Stops sending. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#broadcast?.leave(this)
    this.#broadcast = undefined
  }

  /** Sends all data and at least one control event, then joins the Broadcast of the stream. */
  async #run(): Promise<void> {
    const { access, live, reads } = this.#service
    const { name, created } = this.#stream
    for (let isFirst = true; !this.#isClosed; isFirst = false) {
      const state = await access.find(name, true)
      if (this.#isClosed) return
      if (state?.created !== created || state.softDeleted) return this.finish()
      this.#stream = state
      const isAtEnd = this.next >= state.visible
      if (isAtEnd && !isFirst && !state.endVisible) {
        const broadcast = live.broadcasts.get(name) ?? new Broadcast(this.#service, state)
        live.broadcasts.set(name, broadcast)
        this.#broadcast = broadcast
        broadcast.join(this)
        return
      }
      const { data, next } = await reads.take(() => readEvent(this.#service, state, this.next))
      if (this.#isClosed) return
      this.next = next
      for (const part of data) this.#sink.write(part)
      this.#sink.write(controlEvent(this.#service, state, next, this.leastCursor))
      if (state.endVisible && next === state.visible) return this.finish()
      if (this.#sink.unread >= CATCH_UP_UNREAD && !(await this.#isDrained())) return
    }
  }

  async #waitThenCatchUp(): Promise<void> {
    if (await this.#isDrained()) this.catchUp()
  }

  /** Waits until the client has read everything. If it reads nothing for too long, drops it and returns false. */
  async #isDrained(): Promise<boolean> {
    const isDrained = await this.#sink.drained()
    if (isDrained || this.#isClosed) return !this.#isClosed
    this.close()
    this.#sink.drop('slow-reader')
    return false
  }

  /** Sends a control event, then ends. */
  finishNow(): void {
    // A subscriber of a Broadcast has all records that the Broadcast has found.
    const { created } = this.#stream
    const state = this.#broadcast === undefined ? this.#stream : { created, visible: this.next, endVisible: false }
    if (!this.#isClosed) this.#sink.write(controlEvent(this.#service, state, this.next, this.leastCursor))
    this.finish()
  }
}
