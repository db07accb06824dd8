/** The unanswered requests of one kind, in the order of their calls. */
import type { DurlogError } from '../../errors.js'
import { HELD_CALL_BYTES } from '../../options/call-options.js'
import { TimeSlice } from '../../support/time-slice.js'
import type { MadeFrame, SocketFrame } from './frames.js'

/** The request's frame, and the functions for its answer. */
export interface PendingRequest extends MadeFrame {
  /** The first tick of the owner's stall that the request has waited for. */
  stalledFrom?: number
  onAnswer(frame: SocketFrame): void
  reject(error: DurlogError): void
}

/** The places of answered requests are removed from the array in steps of this number. */
const REMOVED_AT_ONCE = 1024

export class PendingRequests {
  /** The number of the next request. */
  next = 0
  /** The number of open requests. */
  size = 0
  /** The memory that they take, approximately, in bytes. */
  bytes = 0
  /** The number of the oldest open request; `next` if there is none. */
  oldest = 0
  /**
   * The requests from the number `#first` on; undefined if answered. A Map would keep answered requests in memory until
   * a full garbage collection: when it grows, V8 links the old table, with its entries, to the new one.
   */
  #requests: (PendingRequest | undefined)[] = []
  #first = 0

  get all(): PendingRequest[] {
    return this.#requests.filter((request) => request !== undefined)
  }

  /** Adds the request with the number `next`. */
  add(request: PendingRequest): void {
    this.#requests.push(request)
    this.next++
    this.size++
    this.bytes += bytesOf(request)
  }

  /** Removes and returns an answered request; undefined if it has already failed. */
  take(number: number): PendingRequest | undefined {
    const request = this.#requests[number - this.#first]
    if (request === undefined) return undefined
    this.#requests[number - this.#first] = undefined
    this.size--
    this.bytes -= bytesOf(request)
    while (this.oldest < this.next && this.#requests[this.oldest - this.#first] === undefined) this.oldest++
    if (this.oldest - this.#first >= REMOVED_AT_ONCE) {
      this.#requests.splice(0, this.oldest - this.#first)
      this.#first = this.oldest
    }
    return request
  }

  /**
   * To be called for each tick of a stall of the owner, from tick 0 on: rejects the requests that have waited for `max`
   * ticks of this stall. Ticks of earlier stalls do not count, because the owner has worked since.
   */
  tick(tick: number, max: number, error: () => DurlogError): void {
    const rejected: PendingRequest[] = []
    for (let number = this.oldest, { next } = this; number < next; number++) {
      const request = this.#requests[number - this.#first]
      if (request === undefined) continue
      if (tick === 0) request.stalledFrom = 0
      request.stalledFrom ??= tick
      if (tick - request.stalledFrom + 1 >= max) rejected.push(this.take(number) as PendingRequest)
    }
    void rejectEach(rejected, error)
  }

  rejectAll(error: () => DurlogError): void {
    this.rejectBefore(this.next, error)
  }

  /** Rejects the requests with lower numbers than `end`. */
  rejectBefore(end: number, error: () => DurlogError): void {
    const rejected: PendingRequest[] = []
    for (let number = this.oldest; number < end; number++) {
      const request = this.take(number)
      if (request !== undefined) rejected.push(request)
    }
    void rejectEach(rejected, error)
  }
}

/** In several turns of the event loop if there are many. */
async function rejectEach(rejected: readonly PendingRequest[], error: () => DurlogError): Promise<void> {
  const slice = new TimeSlice()
  for (const request of rejected) {
    if (slice.isOver()) await slice.nextTurn()
    request.reject(error())
  }
}

function bytesOf({ start, end }: MadeFrame): number {
  return HELD_CALL_BYTES + end - start
}
