/**
 * The interface through which `durlog/http` uses open streams, without decoding values. `OwnedAccess` implements it in
 * the process that owns the folder, `RemoteAccess` in the processes that share it.
 */
import { invalidArgument } from '../errors.js'
import type { Body, BodyRead } from './body.js'
import type { Settle } from './call.js'
import type { CreationRequest } from './creation.js'
import type { StreamMeta } from './meta.js'
import type { StreamIdentities } from './stream-identities.js'
import type { Producer, StreamAppendResult, Streams } from './types.js'

export type Awaitable<T> = T | Promise<T>

/** The state of a stream at one moment. */
export interface StreamView {
  readonly name: string
  /** The position of the log entry that created the stream. It identifies the stream; a name can be used again. */
  readonly created: number
  readonly meta: StreamMeta
  /** The oldest seq that can be read. */
  readonly firstSeq: number
  /** The records before this seq have reached the durability level, so readers may see them. */
  readonly visible: number
  /** An end was appended; it may not have reached the durability level yet. */
  readonly ended: boolean
  /** The end has reached the durability level, so readers may see it. */
  readonly endVisible: boolean
  /** The stream is deleted, but kept because forks use its records. */
  readonly softDeleted: boolean
  /** Milliseconds until the stream expires if it is not used; Infinity if it never expires. */
  readonly lifeMs: number
}

/**
 * The state of a stream that a reader has seen. `created` is -1 if the reader has seen that the stream does not exist.
 */
export type SeenState = Pick<StreamView, 'name' | 'created' | 'visible' | 'endVisible'>

/** Encoded values to append to one stream in one step. */
export interface Group {
  values: readonly (Buffer | string)[]
  /** End the stream after the values. */
  end: boolean
  producer: Producer | undefined
  writerSeq: string | undefined
}

/** A group for the stream `stream` that the entry at `created` created. */
export interface AddressedGroup extends Group {
  stream: string
  created: number
}

/** A creation whose caller has chosen the encoding of the stream. */
export type EncodedCreation = CreationRequest & { encodingNamed: true }

export interface StreamsStats {
  streams: number
  /** Memory, in bytes, of the records that wait for a checkpoint. */
  memTableBytes: number
}

export interface StreamsAccess {
  readonly identities: StreamIdentities
  /** Throws ERR_DURLOG_CLOSED if the streams are closed. */
  checkOpen(): void
  /**
   * The current state of the stream; undefined if no stream of this name is visible and none is `softDeleted`. With `isRead`
   * the call counts as a read, which restarts the stream's time to live.
   */
  find(name: string, isRead?: boolean): Awaitable<StreamView | undefined>
  /**
   * Whether a stream with this identity, see `StreamIdentities.of`, has given its records before `seq` to the fork
   * `name`.
   */
  inherits(name: string, identity: string, seq: number): Awaitable<boolean>
  /** The `producer.seq` of the producer's last append to the stream; undefined if there is none. */
  producerSeq(name: string, id: string): Awaitable<number | undefined>
  /**
   * Appends the group that `groupOf` returns for the stream `name`. `groupOf` may get an outdated view of the stream.
   * If it then throws, or if the stream was created again since, it is called once more with the current state. If that
   * call throws, the error is thrown by `append` or passed to `settle`. A group must have values or an end.
   */
  append(name: string, groupOf: (stream: StreamView | undefined) => Group, settle: Settle<StreamAppendResult>): void
  /**
   * Creates a stream, see `Stream.create`. `values` have the encoding `request.meta.encoding`. Settles with whether this
   * call created it.
   */
  create(name: string, request: EncodedCreation, values: readonly (Buffer | string)[]): Promise<boolean>
  /** Deletes the stream; settles with whether it existed. */
  delete(name: string): Promise<boolean>
  /**
   * Adds records of `stream` from seq `from` on, before `stream.visible`, to `body`, which must have the encoding of the
   * stream. Adds at least one if there is one, unless `body` has records and no room for another. After an error no record
   * was added, except after ERR_DURLOG_NOT_FOUND: the stream was deleted. Rejects with ERR_DURLOG_OUT_OF_RANGE if the
   * record `from` is not kept any more.
   */
  read(stream: StreamView, from: number, body: Body): Promise<BodyRead>
  /**
   * Calls `wake` once, in a later turn of the event loop, when the state of the stream differs from `seen`. Returns a
   * function that cancels this.
   */
  onChange(seen: SeenState, wake: () => void): () => void
  /**
   * The first `count` streams, in the order of their names, whose names begin with `prefix` and are greater than
   * `after`.
   */
  list(prefix: string, after: string, count: number): Awaitable<StreamView[]>
  /**
   * The number of streams whose names begin with `prefix`, including those that have expired or are kept for their
   * forks.
   */
  count(prefix: string): Awaitable<number>
  stats(): Awaitable<StreamsStats>
}

const accesses = new WeakMap<object, StreamsAccess>()

export function provideAccess(streams: object, access: StreamsAccess): void {
  accesses.set(streams, access)
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT if `streams` does not come from `openStreams`. */
export function accessOf(streams: Streams<never> | Streams<unknown>): StreamsAccess {
  const access = accesses.get(Object(streams))
  if (access === undefined) throw invalidArgument('streams must be the object that openStreams resolved to')
  return access
}
