/**
 * The interface between the callers of streams (the public classes, `durlog/http`, the command line) and a folder.
 * `LocalPort` implements it in the process that owns the folder, `LinkPort` in the processes that share it.
 */
import { DurlogError, invalidArgument } from '../../errors.js'
import type { AppendDurability, CommitOptions, CursorOptions, LogPosition, ReplicationStats } from '../../index.js'
import { HELD_MAX_BYTES } from '../../options/call-options.js'
import type { Body, BodyRead } from './body.js'
import type { SentValues } from './encoding.js'
import type { StreamMeta } from './meta.js'
import type { StreamIdentities } from './stream-identities.js'
import type {
  CommittedRecord,
  Producer,
  StreamAppendResult,
  StreamChange,
  StreamEncoding,
  StreamInfo,
  StreamRecord,
  Streams,
  StreamsEvents,
} from './types.js'

export type Awaitable<T> = T | Promise<T>

/** A callback that is called once, with the result or with a rejected promise. It must not throw. */
export type Settle<T> = (outcome: T | Promise<never>) => void

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

/** The checked options of an append. */
export interface AppendConditions {
  expectedSeq: number | undefined
  producer: Producer | undefined
  writerSeq: string | undefined
  /** Refuse the append if the stream does not exist. */
  mustExist: boolean
  /** End the stream after the values. */
  end: boolean
  /** Settle the append at this level if it is stronger than that of the folder. */
  durability: AppendDurability | undefined
  timestamp: number | undefined
}

export const NO_CONDITIONS: AppendConditions = {
  expectedSeq: undefined,
  producer: undefined,
  writerSeq: undefined,
  mustExist: false,
  end: false,
  durability: undefined,
  timestamp: undefined,
}

/** Values to append to one stream in one step. Without values, ends the stream. */
export interface Group {
  stream: string
  /** The group is refused unless the entry at this position created the stream; undefined: any stream of the name. */
  created: number | undefined
  values: SentValues
  /** Not copied, because most appends have the same ones: none. */
  conditions: AppendConditions
}

/** A group for a stream that exists. */
export type KnownGroup = Pick<Group, 'values'> & Pick<AppendConditions, 'end' | 'producer' | 'writerSeq'>

/** The complete group. */
export function knownGroup({ name, created }: StreamView, { values, end, producer, writerSeq }: KnownGroup): Group {
  return { stream: name, created, values, conditions: { ...NO_CONDITIONS, producer, writerSeq, mustExist: true, end } }
}

/** A request of a caller to create a stream. */
export interface CreationRequest {
  meta: StreamMeta
  /**
   * A fork whose caller gave no seq: it gets the seq of the existing fork of that name, otherwise the next seq of the
   * source.
   */
  forkAnywhere: boolean
  /** The caller has chosen the encoding. Otherwise a fork gets the encoding of its source. */
  encodingNamed: boolean
  end: boolean
}

export interface StreamsStats {
  streams: number
  /** Memory, in bytes, of the records that wait for a checkpoint. */
  memTableBytes: number
  /** Only of a folder with the option `replicate`. */
  replication?: ReplicationStats | undefined
}

/** The last append, or end, of a producer. */
export interface LastAppend {
  /** Its `producer.seq`. */
  seq: number
  /** It has ended the stream. */
  isEnd: boolean
}

/** The part of a folder that `durlog/http` serves. */
export interface ServedPort {
  /** Why the last checkpoint has not stored everything; undefined if it has. */
  readonly checkpointFailure: DurlogError | undefined
  readonly identities: StreamIdentities
  /** Throws ERR_DURLOG_CLOSED if the streams are closed. */
  checkOpen(): void
  /** Rejects if the newest record cannot be read. Only of ports whose records another process writes. */
  checkReadable?(): Promise<void>
  /**
   * The current state of the stream; undefined if no stream of this name is visible and none is `softDeleted`. With
   * `isRead` the call counts as a read, which restarts the stream's time to live.
   */
  find(name: string, isRead?: boolean): Awaitable<StreamView | undefined>
  /**
   * Whether a stream with this identity, see `StreamIdentities.of`, has given its records before `seq` to the fork
   * `name`.
   */
  inherits(name: string, identity: string, seq: number): Awaitable<boolean>
  /** The producer's last append to the stream; undefined if there is none. */
  lastAppend(name: string, producerId: string): Awaitable<LastAppend | undefined>
  /**
   * Appends the group that `groupOf` returns for the stream `name`. `groupOf` may get an outdated view of the stream.
   * If it then throws, or if the stream was created again since, it is called once more with the current state. If that
   * call throws, the error is thrown by `appendTo` or passed to `settle`. A group must have values or an end.
   */
  appendTo(
    name: string,
    groupOf: (stream: StreamView | undefined) => KnownGroup,
    settle: Settle<StreamAppendResult>,
  ): void
  /** Creates a stream, see `Stream.create`. Settles with whether this call created it. */
  create(name: string, request: CreationRequest, values: SentValues): Promise<boolean>
  /** Deletes the stream; settles with whether it existed. */
  delete(name: string): Promise<boolean>
  /**
   * Adds records of `stream` from seq `from` on, before `stream.visible`, to `body`, which must have the encoding of
   * the stream. Adds at least one if there is one, unless `body` has records and no room for another. After an error no
   * record was added, except after ERR_DURLOG_NOT_FOUND: the stream was deleted. Rejects with ERR_DURLOG_OUT_OF_RANGE
   * if the record `from` is not kept any more.
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

/** The checked options of a read. */
export interface ReadBounds<From = number> {
  /** Undefined: the oldest record; negative: counted from the end. */
  from: From | undefined
  to: number | undefined
  /** End before the first record of this time or later. */
  untilMs: number | undefined
  follow: boolean
  durableOnly: boolean
}

/** The checked options of a read of all streams. */
export type AllBounds = ReadBounds<number | LogPosition>

/** Iterates over arrays. It ends by an error when the signal that its maker got is aborted. */
export type Batches<T> = AsyncGenerator<T[], void, undefined>

/** A cursor of the folder's main log. */
export interface PortCursor {
  readonly position: number
  /** Iterates over the records of all streams from `position` on. `range.from` does not count. */
  read(range: ReadBounds, signal: AbortSignal): Batches<CommittedRecord<unknown>>
  commit(position: number, options: CommitOptions): Promise<void>
  close(): Promise<void>
}

/** Everything that the public classes need of a folder. */
export interface StreamsPort extends ServedPort {
  readonly dir: string
  /** The encoding of the folder. */
  readonly encoding: StreamEncoding
  readonly changes: readonly StreamChange[]
  /** The process that owns the folder. */
  readonly ownerPid: number
  /** Set by the user of the port: gets each event. It must not throw. */
  onEvent: <N extends keyof StreamsEvents>(name: N, ...args: StreamsEvents[N]) => void
  /** Appends a group. Settles with the result of its first record. */
  append(group: Group, settle: Settle<StreamAppendResult>): void
  /** Appends all groups or nothing. Each must have one value and no end. */
  appendBatch(groups: readonly Group[]): Promise<StreamAppendResult[]>
  info(name: string): Promise<StreamInfo | undefined>
  /** The streams whose names begin with `prefix`, in the order of their creation. */
  infos(prefix: string, signal: AbortSignal): Batches<StreamInfo>
  /** Iterates over the records of a stream. With `stored`, values are delivered as `EncodedValue`s. */
  readStream(name: string, range: ReadBounds, stored: boolean, signal: AbortSignal): Batches<StreamRecord<unknown>>
  /** Iterates over the records of all streams. */
  readAll(range: AllBounds, signal: AbortSignal): Batches<CommittedRecord<unknown>>
  cursor(name: string, options: CursorOptions): Promise<PortCursor>
  removeCursor(name: string): Promise<void>
  checkpoint(): Promise<void>
  close(): Promise<void>
}

/** Throws ERR_DURLOG_BACKPRESSURE if the calls that wait hold `bytes` bytes, which leaves no room for another one. */
export function checkHeld(bytes: number): void {
  if (bytes < HELD_MAX_BYTES) return
  throw new DurlogError(
    'ERR_DURLOG_BACKPRESSURE',
    `no room for now: the calls that wait hold ${bytes} bytes, of at most ${HELD_MAX_BYTES}; await earlier calls, then try again`,
    { outcome: 'not-written' },
  )
}

/** Together they fit into one message between processes, whatever the names are. */
const CHANGES_MAX = 256

/** Adds a change to those that `StreamsPort.changes` has, of which it keeps the latest. */
export function addChange(changes: StreamChange[], change: StreamChange): void {
  if (changes.push(change) > CHANGES_MAX) changes.shift()
}

const ports = new WeakMap<object, StreamsPort>()

export function providePort(streams: object, port: StreamsPort): void {
  ports.set(streams, port)
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT if `streams` does not come from `openStreams`. */
export function portOf(streams: Streams<never> | Streams<unknown>): StreamsPort {
  const port = ports.get(Object(streams))
  if (port === undefined) throw invalidArgument('streams must be the object that openStreams resolved to')
  return port
}
