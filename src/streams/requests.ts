/**
 * The requests of other processes that were stored and whose answers may not have arrived. A client repeats such a request
 * after a change of owner, and gets the result of the original.
 */

/** One request of one client. A client numbers its requests from 0. */
export interface RequestId {
  /** 16 hex digits, chosen at random by the client. */
  client: string
  number: number
}

/** By client, by number: the seqs of the records; -1 of an end and of a deletion. */
export type StoredRequests = [client: string, requests: [number: number, seqs: readonly number[]][]][]

export class RequestTable {
  readonly #clients = new Map<string, Map<number, readonly number[]>>()

  constructor(stored: StoredRequests = []) {
    for (const [client, requests] of stored) this.#clients.set(client, new Map(requests))
  }

  get clients(): Iterable<string> {
    return this.#clients.keys()
  }

  find({ client, number }: RequestId): readonly number[] | undefined {
    return this.#clients.get(client)?.get(number)
  }

  add({ client, number }: RequestId, seqs: readonly number[]): void {
    let requests = this.#clients.get(client)
    if (requests === undefined) {
      requests = new Map()
      this.#clients.set(client, requests)
    }
    requests.set(number, seqs)
  }

  /** The client has the answers of its requests before `number`. */
  confirm(client: string, number: number): void {
    const requests = this.#clients.get(client)
    if (requests === undefined) return
    for (const stored of requests.keys()) if (stored < number) requests.delete(stored)
  }

  /** The client does not exist any more. */
  forget(client: string): void {
    this.#clients.delete(client)
  }

  stored(): StoredRequests {
    return [...this.#clients].filter(([, { size }]) => size > 0).map(([client, requests]) => [client, [...requests]])
  }
}
