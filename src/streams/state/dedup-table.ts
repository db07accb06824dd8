/**
 * The deduplication table: the stored requests of clients whose answers may not have arrived. After a change of the
 * owner, a client repeats such a request and gets the result of the original.
 */

/** Identifies a request of a client. A client numbers its requests from 0. */
export interface RequestId {
  /** 16 random hex digits. */
  client: string
  number: number
}

/** For each client, the seqs of the records of each request, by the request's number; -1 for an end or a deletion. */
export type StoredRequests = [client: string, requests: [number: number, seqs: readonly number[]][]][]

export class DedupTable {
  readonly #clients = new Map<string, Map<number, readonly number[]>>()
  /** For each client, the greatest number of its requests that an earlier owner has stored. */
  readonly #stored = new Map<string, number>()

  constructor(stored: StoredRequests = []) {
    for (const [client, requests] of stored) for (const [number, seqs] of requests) this.add({ client, number }, seqs)
  }

  /** The ids of the clients that have stored requests. */
  get clients(): Iterable<string> {
    return this.#clients.keys()
  }

  /** The seqs of a stored request; undefined if it is not stored. */
  find({ client, number }: RequestId): readonly number[] | undefined {
    return this.#clients.get(client)?.get(number)
  }

  /** Notes that all requests so far were stored by an earlier owner. */
  loaded(): void {
    for (const [client, requests] of this.#clients) {
      let greatest = 0
      for (const number of requests.keys()) greatest = Math.max(greatest, number)
      this.#stored.set(client, greatest)
    }
  }

  /**
   * Whether an earlier owner refused the request or found nothing to change. True if that owner stored a later request
   * of the same client, because requests of a client are decided in order.
   */
  wasDecided({ client, number }: RequestId): boolean {
    return number < (this.#stored.get(client) ?? 0)
  }

  add({ client, number }: RequestId, seqs: readonly number[]): void {
    let requests = this.#clients.get(client)
    if (requests === undefined) {
      requests = new Map()
      this.#clients.set(client, requests)
    }
    requests.set(number, seqs)
  }

  /** The client has received the answers to its requests before `number`. */
  confirm(client: string, number: number): void {
    const requests = this.#clients.get(client)
    if (requests === undefined) return
    for (const stored of requests.keys()) if (stored < number) requests.delete(stored)
  }

  /** The client does not exist any more. */
  forget(client: string): void {
    this.#clients.delete(client)
    this.#stored.delete(client)
  }

  /** All requests, for the catalog. */
  stored(): StoredRequests {
    return [...this.#clients].filter(([, { size }]) => size > 0).map(([client, requests]) => [client, [...requests]])
  }
}
