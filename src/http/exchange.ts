/** One request and its answer, as the protocol sees them. `node-exchange.ts` and `web-exchange.ts` implement it. */
import type { DropReason } from './types.js'

/** Names and values in turn. */
export type HeaderList = string[]

/** The body of an answer that is written piece by piece. */
export interface Sink {
  /** False if the client reads slower than the server writes; then wait for `drained`. */
  write(chunk: string | Buffer): boolean
  /** Settles with false if nothing was read for `ms`, or the client is gone. */
  drained(ms: number): Promise<boolean>
  end(): void
  /** Closes the connection. */
  drop(reason: DropReason): void
}

export interface Exchange {
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
   * Calls `take`, which does not throw, with the whole body; or `fail` with a Refusal if it has more than `maxBytes`. Neither if the
   * client goes away.
   */
  body(maxBytes: number, take: (body: Buffer) => void, fail: (error: unknown) => void): void
  reply(status: number, headers: HeaderList, body?: Buffer | string): void
  /** Begins an answer whose end is open. */
  open(status: number, headers: HeaderList): Sink
  /** Calls `ended` once, when the client is gone or the answer is complete. */
  onEnd(ended: () => void): void
}

export const EMPTY: Buffer = Buffer.alloc(0)
