/**
 * One request and its answer. `node-exchange.ts` implements it for `node:http`, `web-exchange.ts` for the Fetch API.
 */
import type { Buffered, Held } from './buffered.js'
import type { DropReason } from './types.js'

/** The limits on clients that read or write slowly. */
export interface ClientLimits {
  readonly slowReaderMs: number
  readonly buffered: Buffered
}

/** Names and values of headers, alternately. */
export type HeaderList = string[]

/** The body of an answer that is sent in parts. */
export interface BodySink extends Held {
  /** Must not be called with an empty chunk. */
  write(chunk: Buffer): void
  /**
   * Settles with true when the client has read everything, and with false if it reads nothing for `slowReaderMs` or
   * disconnects.
   */
  drained(): Promise<boolean>
  end(): void
}

export interface Exchange extends Held {
  readonly method: string
  /**
   * The tenant and a slash, with which the names of the tenant's streams begin; '' without a tenant. It is set when the
   * rights of the request are known.
   */
  scope: string
  /** A long-poll, or an event stream. It is set when the query is known to be valid. */
  isLive: boolean
  /** The path and the query, as they were sent. */
  readonly target: string
  /** The beginning of the path under which an application has mounted the handler, without a slash at its end. */
  readonly base: string
  /** Whether `pass` may succeed. */
  readonly mayPass: boolean
  /** The host and the port of the server, as the client wrote them; '' if there are none. */
  readonly host: string
  /** The scheme and the host, as the client wrote them; '' if the host is malformed. */
  readonly origin: string
  /** The status of the answer; 0 before it. */
  readonly status: number
  /** The reason if the client was dropped. */
  readonly dropped: DropReason | undefined
  /** The reason to drop the client if it must not take longer; undefined while the server works on the answer. */
  readonly slowness: DropReason | undefined
  /** The client sends its body only after an answer to its `Expect: 100-continue`, which `body` gives. */
  readonly waitsToSend: boolean
  /** For the list of requests that have not been answered. */
  place: number
  /** Returns a header of the request. `name` must be in lower case. */
  header(name: string): string | undefined
  /**
   * Calls `take` with the whole body, or `fail` with an HttpError if the body has more than `maxBytes` or too many
   * bytes are buffered. Calls neither if the client disconnects. `take` must not throw.
   */
  body(maxBytes: number, take: (body: Buffer) => void, fail: (error: unknown) => void): void
  /** Leaves the request to the other routes of the application. Returns false if there are none, or it was answered. */
  pass(): boolean
  /** May call `sent` when the system has all bytes of `body` and nothing else uses them. */
  reply(status: number, headers: HeaderList, body?: Buffer | string, sent?: () => void): void
  /** Begins an answer whose body is sent in parts. */
  open(status: number, headers: HeaderList): BodySink
  /** Calls `ended` once, when the answer is complete or the client has disconnected; at once if that was before. */
  onEnd(ended: () => void): void
}

export const EMPTY: Buffer = Buffer.alloc(0)
