/**
 * The subscribers of one stream that have received all of its data. New data is read and formatted once for all of
 * them.
 */

import type { StreamView } from '../streams/port/port.js'
import { TimeSlice } from '../support/time-slice.js'
import { clock, setImmediate, setTimeout } from '../timers.js'
import { controlEvent, type DataEvent, readEvent } from './events.js'
import type { Subscriber, Subscribers } from './live.js'
import type { Service } from './service.js'

/** The longest pause after a delivery to many subscribers. */
const MAX_PAUSE_MS = 20

export class Broadcast implements Subscribers {
  readonly #service: Service
  readonly #name: string
  readonly #created: number
  /** All subscribers have the records before this seq. */
  #next: number
  readonly #subscribers = new Set<Subscriber>()
  /** The subscribers that joined while a delivery was due. They may already have its records, so they join after it. */
  readonly #ahead = new Set<Subscriber>()
  #forget: (() => void) | undefined
  #isDue = false
  #tookMs = 0

  constructor(service: Service, { name, created, visible }: StreamView) {
    this.#service = service
    this.#name = name
    this.#created = created
    this.#next = visible
    this.#listen()
  }

  join(subscriber: Subscriber): void {
    if (subscriber.next === this.#next && !this.#isDue) this.#subscribers.add(subscriber)
    else if (this.#isDue) this.#ahead.add(subscriber)
    else subscriber.catchUp()
  }

  leave(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber)
    this.#ahead.delete(subscriber)
    if (this.#subscribers.size === 0 && this.#ahead.size === 0 && !this.#isDue) this.#end()
  }

  #listen(): void {
    const { access, work } = this.#service
    const seen = { name: this.#name, created: this.#created, visible: this.#next, endVisible: false }
    this.#forget = access.onChange(seen, () => {
      this.#isDue = true
      const deliver = (): void => {
        this.#deliver().catch(() => {
          this.#end()
          this.#finishEach([...this.#subscribers, ...this.#ahead])
        })
      }
      // After each delivery, pause for as long as it took, so that appends make progress while there are many
      // subscribers.
      const pauseMs = Math.min(this.#tookMs, MAX_PAUSE_MS)
      const deliverSoon = (): void => work.run(deliver)
      if (pauseMs < 1) setImmediate(deliverSoon)
      else setTimeout(deliverSoon, pauseMs)
    })
  }

  async #deliver(): Promise<void> {
    const { access, live } = this.#service
    for (;;) {
      const state = await access.find(this.#name)
      if (state?.created !== this.#created || state.softDeleted) return this.#finishAll()
      if (this.#next < state.visible || state.endVisible) {
        const event = await live.deliveries.take(() => readEvent(this.#service, state, this.#next))
        // The state may change while the event is sent.
        const isLast = state.endVisible && event.next === state.visible
        await this.#send(state, event)
        if (isLast) return this.#finishAll()
        continue
      }
      this.#isDue = false
      this.#listen()
      for (const subscriber of this.#takeAhead()) this.join(subscriber)
      if (this.#subscribers.size === 0) this.#end()
      return
    }
  }

  /** Sends the event to all subscribers, in several turns of the event loop if there are many. */
  async #send(state: StreamView, { data, next }: DataEvent): Promise<void> {
    const startMs = clock.now()
    this.#next = next
    const { created, visible, endVisible } = state
    const seen = { created, visible, endVisible }
    const control = controlEvent(this.#service, seen, next, 0)
    // A short event takes one write.
    const common = data.length > 1 ? [...data, control] : [Buffer.concat([...data, control])]
    const slice = new TimeSlice()
    for (const subscriber of this.#subscribers) {
      if (slice.isSpent) await slice.nextTurn()
      const { leastCursor } = subscriber
      subscriber.push(
        leastCursor === 0 ? common : [...data, controlEvent(this.#service, seen, next, leastCursor)],
        next,
      )
    }
    this.#tookMs = clock.now() - startMs
  }

  #finishAll(): void {
    this.#end()
    for (const subscriber of this.#takeAhead()) subscriber.catchUp()
    this.#finishEach([...this.#subscribers])
  }

  #finishEach(subscribers: readonly Subscriber[]): void {
    for (const subscriber of subscribers) this.#service.work.run(() => subscriber.finish())
  }

  #takeAhead(): Subscriber[] {
    const ahead = [...this.#ahead]
    this.#ahead.clear()
    return ahead
  }

  #end(): void {
    this.#forget?.()
    const { broadcasts } = this.#service.live
    if (broadcasts.get(this.#name) === this) broadcasts.delete(this.#name)
  }
}
