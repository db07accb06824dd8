/**
 * Lets `durlog/http` work on open streams without decoding values. `OwnedAccess` implements it for the process that owns the folder,
 * `RemoteAccess` for the processes that share it.
 */
import { invalidArgument } from '../errors.js'
import type { Settle } from './call.js'
import type { Wish } from './creation.js'
import type { StreamCodec } from './encoding.js'
import type { StreamMeta } from './meta.js'
import type { Producer, StreamAppendResult, StreamEncoding, StreamRecord, Streams } from './types.js'

export type Awaitable<T> = T | Promise<T>

/** A stream, at some moment. */
export interface StreamView {
  readonly name: string
  /** The position of the entry that made it: tells it from another stream of the same name. */
  readonly created: number
  readonly meta: StreamMeta
  /** The oldest seq that can be read. */
  readonly firstSeq: number
  /** The records before it can be read. */
  readonly visible: number
  /** An end was appended. */
  readonly ended: boolean
  /** Readers may know that it has ended. */
  readonly endVisible: boolean
  /** Deleted, and kept for its forks. */
  readonly gone: boolean
  /** The time for which it lives if it is not used. */
  readonly lifeMs: number
}

/** The state of a stream that a reader knows; `created` is -1 if it knows that there is no stream. */
export type KnownState = Pick<StreamView, 'name' | 'created' | 'visible' | 'endVisible'>

/** Encoded values to append to one stream in one step. */
export interface Group {
  values: readonly (Buffer | string)[]
  /** End the stream after them. */
  end: boolean
  producer: Producer | undefined
  writerSeq: string | undefined
}

/** Where records are read. */
export interface Records<V> {
  /**
   * Some visible records of `stream` from `from` on, `maxBytes` if no more will be read; none if there is none, now or ever. Rejects with
   * ERR_DURLOG_OUT_OF_RANGE if they are not kept any more, and with ERR_DURLOG_NOT_FOUND if the stream was deleted.
   */
  next(stream: StreamView, from: number, maxBytes?: number): Promise<StreamRecord<V>[]>
  close(): Promise<void>
}

/** It names the encoding of the stream. */
export type NamedWish = Wish & { encodingNamed: true }

export interface StreamsStats {
  streams: number
  /** Bytes of records that wait for a checkpoint. */
  tailBytes: number
}

export interface StreamsAccess {
  /** Throws once the streams are closed. */
  checkOpen(): void
  /** The stream that callers may know or that is `gone`, as it is now. A read by `isRead` renews its time to live. */
  find(name: string, isRead?: boolean): Awaitable<StreamView | undefined>
  /** The seq of the producer's last append to the stream. */
  producerSeq(name: string, id: string): Awaitable<number | undefined>
  /**
   * Appends what `groupOf` returns for the stream of this name, which may be a view of an earlier moment. If `groupOf` throws, or the
   * stream was made again since, `groupOf` is called again with the stream as it is now. Then an error that it throws is thrown, or is the
   * outcome. An empty group is invalid.
   */
  append(name: string, groupOf: (stream: StreamView | undefined) => Group, settle: Settle<StreamAppendResult>): void
  /** Whether it made the stream: as `create` of a stream. `values` are encoded as `wish.meta` says. */
  create(name: string, wish: NamedWish, values: readonly (Buffer | string)[]): Promise<boolean>
  /** Whether there was a stream. */
  delete(name: string): Promise<boolean>
  records<V>(codecOf: (encoding: StreamEncoding) => StreamCodec): Records<V>
  /** Calls `wake` once, in a later turn, when the stream is not in the state `known`; returns what forgets it. */
  onChange(known: KnownState, wake: () => void): () => void
  /** The first `count` streams, by name, whose names begin with `prefix` and come after `after`. */
  list(prefix: string, after: string, count: number): Awaitable<StreamView[]>
  /** The number of streams whose names begin with `prefix`. */
  count(prefix: string): Awaitable<number>
  stats(): Awaitable<StreamsStats>
}

const accesses = new WeakMap<object, StreamsAccess>()

export function provideAccess(streams: object, access: StreamsAccess): void {
  accesses.set(streams, access)
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT unless `streams` is what `openStreams` resolved to. */
export function accessOf(streams: Streams<never> | Streams<unknown>): StreamsAccess {
  const access = accesses.get(Object(streams))
  if (access === undefined) throw invalidArgument('streams must be what openStreams resolved to')
  return access
}
