/** One request and its answer, as the protocol sees them. `node-exchange.ts` and `web-exchange.ts` implement it. */
import type { Buffered, Held } from './buffered.js'
import type { DropReason } from './types.js'

/** Limits on clients that read or write slowly. */
export interface ClientLimits {
  readonly slowReaderMs: number
  readonly buffered: Buffered
}

/** Names and values in turn. */
export type HeaderList = string[]

/** The body of an answer that is written piece by piece. */
export interface Sink extends Held {
  write(chunk: string | Buffer): void
  /** Bytes that the client has not read. */
  readonly unread: number
  /** Settles when the client has read everything; with false if it reads nothing for `slowReaderMs`, or is gone. */
  drained(): Promise<boolean>
  end(): void
}

export interface Exchange extends Held {
  readonly method: string
  /** Path and query, as they were sent. */
  readonly target: string
  /** Scheme and host, as the client wrote them. */
  readonly origin: string
  /** Of the answer; 0 before it. */
  readonly status: number
  readonly dropped: DropReason | undefined
  /** By the name in lower case. */
  header(name: string): string | undefined
  /**
   * Calls `take`, which does not throw, with the whole body; or `fail` with a Refusal if it has more than `maxBytes`, or too much is
   * buffered. Neither if the client goes away.
   */
  body(maxBytes: number, take: (body: Buffer) => void, fail: (error: unknown) => void): void
  reply(status: number, headers: HeaderList, body?: Buffer | string): void
  /** Begins an answer whose end is open. */
  open(status: number, headers: HeaderList): Sink
  /** Calls `ended` once, when the client is gone or the answer is complete. */
  onEnd(ended: () => void): void
}

export const EMPTY: Buffer = Buffer.alloc(0)
