/**
 * The deduplication table: the stored requests of clients whose answers may not have arrived. After a change of the
 * owner, a client repeats such a request and gets the result of the original.
 */

import { TimeSlice } from '../../support/time-slice.js'

/** Identifies a request of a client. A client numbers its requests from 0. */
export interface RequestId {
  /** 16 random hex digits. */
  client: string
  number: number
}

/** A request by its number, with the seqs of its records; -1 for an end or a deletion. */
export type RequestSeqs = [number: number, seqs: readonly number[]]

export type StoredRequests = Iterable<[client: string, requests: Iterable<RequestSeqs>]>

interface ClientHistory {
  /** By their numbers, in the order in which they were stored. */
  readonly requests: Map<number, { seqs: readonly number[]; place: number }>
  /** The greatest number of all requests so far. */
  greatest: number
  /** The greatest number of those that an earlier owner has stored. */
  greatestOfEarlier: number
}

export class DedupTable {
  readonly #clients = new Map<string, ClientHistory>()
  /** The number of requests that were added, which is the place of the next one. */
  #added = 0

  /** The ids of the clients that have stored requests. */
  get clients(): Iterable<string> {
    return this.#clients.keys()
  }

  /** The seqs of a stored request; undefined if it is not stored. */
  find({ client, number }: RequestId): readonly number[] | undefined {
    return this.#clients.get(client)?.requests.get(number)?.seqs
  }

  /** Adds the requests of a catalog. */
  async load(stored: StoredRequests): Promise<void> {
    const slice = new TimeSlice()
    for (const [client, requests] of stored)
      for (const [number, seqs] of requests) {
        if (slice.isOver()) await slice.nextTurn()
        this.add({ client, number }, seqs)
      }
  }

  /** Notes that all requests so far were stored by an earlier owner. */
  loaded(): void {
    for (const client of this.#clients.values()) client.greatestOfEarlier = client.greatest
  }

  /**
   * Whether an earlier owner refused the request or found nothing to change. True if that owner stored a later request
   * of the same client, because requests of a client are decided in order.
   */
  wasDecided({ client, number }: RequestId): boolean {
    return number < (this.#clients.get(client)?.greatestOfEarlier ?? 0)
  }

  /** Adds a request that is not stored yet. */
  add({ client, number }: RequestId, seqs: readonly number[]): void {
    let stored = this.#clients.get(client)
    if (stored === undefined) {
      stored = { requests: new Map(), greatest: 0, greatestOfEarlier: 0 }
      this.#clients.set(client, stored)
    }
    stored.requests.set(number, { seqs, place: this.#added++ })
    stored.greatest = Math.max(stored.greatest, number)
  }

  /** The client has received the answers to its requests before `number`. */
  confirm(client: string, number: number): void {
    const requests = this.#clients.get(client)?.requests ?? new Map<number, unknown>()
    // In the order of their numbers, except for a creation that waited for a record of its source.
    for (const stored of requests.keys()) {
      if (stored >= number) return
      requests.delete(stored)
    }
  }

  /** The client does not exist any more. */
  forget(client: string): void {
    this.#clients.delete(client)
  }

  /**
   * The requests so far, for the catalog, which are read in several turns of the event loop. Those that are confirmed
   * meanwhile are left out.
   */
  stored(): StoredRequests {
    return this.#storedBefore(this.#added)
  }

  *#storedBefore(end: number): Generator<[string, Iterable<RequestSeqs>], void, undefined> {
    for (const [client, { requests }] of this.#clients) yield [client, requestsBefore(requests, end)]
  }
}

function* requestsBefore(requests: ClientHistory['requests'], end: number): Generator<RequestSeqs, void, undefined> {
  for (const [number, { seqs, place }] of requests) {
    if (place >= end) return
    yield [number, seqs]
  }
}
