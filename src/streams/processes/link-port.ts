/** A folder of streams whose owner is another process, or another thread of this one, as its callers use it. */
import { dirname } from 'node:path'
import { DurlogError, isCode } from '../../errors.js'
import type { CommitOptions, CursorOptions } from '../../index.js'
import { native } from '../../native/native.js'
import type { NativeStreamFiles } from '../../native/stream-files.js'
import { type FileRead, readFileBody } from '../files/body-source.js'
import { FolderFiles } from '../files/folder-files.js'
import { changedFile } from '../files/stream-file.js'
import type { Body, BodyRead } from '../port/body.js'
import { codecOf, NO_VALUES, type SentValues } from '../port/encoding.js'
import { loadedMeta } from '../port/meta.js'
import type { ResolvedStreamsOptions } from '../port/options.js'
import {
  type AllBounds,
  addChange,
  type Batches,
  type CreationRequest,
  type Group,
  type KnownGroup,
  knownGroup,
  type LastAppend,
  NO_CONDITIONS,
  type PortCursor,
  type ReadBounds,
  type SeenState,
  type Settle,
  type StreamsPort,
  type StreamsStats,
  type StreamView,
} from '../port/port.js'
import type { StreamIdentities } from '../port/stream-identities.js'
import type {
  CommittedRecord,
  StreamAppendResult,
  StreamChange,
  StreamEncoding,
  StreamInfo,
  StreamRecord,
  StreamsEvents,
} from '../port/types.js'
import { noSuchStream } from '../state/decide.js'
import { decodeEntry } from '../state/entry.js'
import { EntryRecord } from '../state/entry-record.js'
import { addBody, type PortCall, receivedError, type SentFile, type Welcome } from './messages.js'
import { OwnerHost } from './owner-host.js'
import { OwnerLink } from './owner-link.js'
import { type Submission, SubmitOp, submitFrame } from './submission.js'

/** The maximum number of remembered streams. */
const MAX_REMEMBERED = 16_384

/** One request to the owner for all callers that wait for the same change. */
interface Watch {
  readonly wakes: Set<() => void>
  readonly abort: AbortController
}

export class LinkPort implements StreamsPort {
  readonly dir: string
  readonly changes: StreamChange[] = []
  onEvent: StreamsPort['onEvent'] = () => {}
  checkpointFailure: DurlogError | undefined
  readonly #host: OwnerHost
  readonly #link: OwnerLink
  readonly #files: FolderFiles
  #encoding: StreamEncoding
  #closing: Promise<void> | undefined
  /** Opened by the first read of a file. */
  #storage: Promise<NativeStreamFiles> | undefined
  /** Earlier views of streams. An append takes from them the properties that never change while the stream exists. */
  readonly #remembered = new Map<string, StreamView>()
  readonly #watches = new Map<string, Watch>()
  /** The cursors that the next owner must open. */
  readonly #cursors = new Set<string>()
  /** The number of times that an owner has welcomed this client. */
  #welcomes = 0

  constructor(dir: string, options: ResolvedStreamsOptions, anyLevel: boolean) {
    this.dir = dir
    this.#files = new FolderFiles(dir)
    this.#encoding = options.encoding
    const { durability, checkpointBytes, checkpointMs, create } = options
    const encoding = options.encodingNamed ? options.encoding : undefined
    this.#host = new OwnerHost(dir, { encoding, durability, checkpointBytes, checkpointMs, create })
    this.#link = new OwnerLink({
      dir,
      host: this.#host,
      durability: anyLevel ? undefined : durability,
      encoding,
      onWelcome: (welcome) => this.#onWelcome(welcome),
      onEvent: ({ name, value }) => this.#onOwnerEvent(name as keyof StreamsEvents, value),
      onStalled: (pid) => this.onEvent('stalled', { pid }),
    })
  }

  /**
   * Connects to the owner, or becomes the owner and makes a checkpoint of the records that the log held. With
   * `anyLevel`, the owner may use any durability.
   */
  static async open(dir: string, options: ResolvedStreamsOptions, anyLevel = false): Promise<LinkPort> {
    const port = new LinkPort(dir, options, anyLevel)
    try {
      await port.#link.connect(options.waitMs, options.signal)
      if (port.#host.owns) await port.checkpoint().catch(() => {})
      return port
    } catch (error) {
      await port.close().catch(() => {})
      throw error
    }
  }

  /** Callers have found a stream, so there was an owner. */
  get identities(): StreamIdentities {
    return this.#link.identities as StreamIdentities
  }

  get ownerPid(): number {
    return this.#link.ownerPid
  }

  get encoding(): StreamEncoding {
    return this.#encoding
  }

  #onWelcome(welcome: Welcome): void {
    this.#welcomes++
    this.#encoding = welcome.encoding
    this.#host.joined(welcome.durability)
    // Before another process can open them. If another process was faster, the next commit reports it.
    for (const name of this.#cursors) this.#call({ op: 'openCursor', name }).catch(() => {})
    this.changes.splice(0, this.changes.length, ...(welcome.changes as StreamChange[]))
    this.checkpointFailure = welcome.checkpointFailure && receivedError(welcome.checkpointFailure)
  }

  #onOwnerEvent(name: keyof StreamsEvents, value: unknown): void {
    if (name === 'changed') addChange(this.changes, value as StreamChange)
    const argument = name === 'checkpointFailed' ? receivedError(value) : value
    if (name === 'checkpoint') this.checkpointFailure = undefined
    if (argument instanceof DurlogError) this.checkpointFailure = argument
    this.onEvent(name, ...([argument] as StreamsEvents[typeof name]))
  }

  checkOpen(): void {
    this.#link.checkOpen()
  }

  /** Asks the owner. The caller knows the type of the answer. */
  async #call<T>(call: PortCall): Promise<T> {
    return (await this.#link.call(call)) as T
  }

  append(group: Group, settle: Settle<StreamAppendResult>): void {
    this.#submit({ op: SubmitOp.append, groups: [group] }, ([result]) => settle(result as StreamAppendResult), settle)
  }

  appendBatch(groups: readonly Group[]): Promise<StreamAppendResult[]> {
    return new Promise((resolve) => this.#submit({ op: SubmitOp.batch, groups }, resolve, resolve))
  }

  #submit(
    submission: Submission,
    resolve: (results: StreamAppendResult[]) => void,
    reject: (rejection: Promise<never>) => void,
  ): void {
    this.#link.submit((maker, number) => submitFrame(maker, number, submission), resolve, reject)
  }

  appendTo(
    name: string,
    groupOf: (stream: StreamView | undefined) => KnownGroup,
    settle: Settle<StreamAppendResult>,
  ): void {
    const appendNow = (): void => {
      this.#appendNow(name, groupOf).then(settle, (error: unknown) => settle(Promise.reject(error)))
    }
    const view = this.#remembered.get(name)
    const group = view && groupIn(view, groupOf)
    if (view === undefined || group === undefined) appendNow()
    else
      this.append(knownGroup(view, group), (outcome) => {
        if (!(outcome instanceof Promise)) settle(outcome)
        else outcome.catch((error) => (isCode(error, 'ERR_DURLOG_NOT_FOUND') ? appendNow() : settle(outcome)))
      })
  }

  async #appendNow(name: string, groupOf: (stream: StreamView | undefined) => KnownGroup): Promise<StreamAppendResult> {
    const view = await this.find(name)
    const group = groupOf(view)
    if (view === undefined) throw noSuchStream(name)
    return new Promise((resolve) => this.append(knownGroup(view, group), resolve))
  }

  create(stream: string, creation: CreationRequest, values: SentValues): Promise<boolean> {
    return this.#isNew({ op: SubmitOp.create, groups: [plainGroup(stream, values)], creation })
  }

  delete(stream: string): Promise<boolean> {
    return this.#isNew({ op: SubmitOp.delete, groups: [plainGroup(stream, NO_VALUES)] })
  }

  #isNew(submission: Submission): Promise<boolean> {
    return new Promise((resolve) =>
      this.#submit(submission, ([result]) => resolve(result?.duplicate === false), resolve),
    )
  }

  async find(name: string, isRead = false): Promise<StreamView | undefined> {
    const found = await this.#call<StreamView | undefined>({ op: 'find', stream: name, isRead })
    if (found === undefined) {
      this.#remembered.delete(name)
      return undefined
    }
    const view = receivedView(found)
    this.#remember(view)
    return view
  }

  inherits(stream: string, identity: string, seq: number): Promise<boolean> {
    return this.#call({ op: 'inherits', stream, identity, seq })
  }

  lastAppend(name: string, producerId: string): Promise<LastAppend | undefined> {
    return this.#call({ op: 'lastAppend', stream: name, producer: producerId })
  }

  async info(name: string): Promise<StreamInfo | undefined> {
    const info = await this.#call<object | undefined>({ op: 'info', stream: name })
    return info && receivedInfo(info)
  }

  async *infos(prefix: string, signal: AbortSignal): Batches<StreamInfo> {
    for await (const batch of this.#link.read({ kind: 'list', prefix }).batches(signal))
      yield batch.map(({ value: { data } }) => receivedInfo(JSON.parse(data.toString()) as object))
  }

  async *readStream(
    stream: string,
    range: ReadBounds,
    stored: boolean,
    signal: AbortSignal,
  ): Batches<StreamRecord<unknown>> {
    for await (const batch of this.#link.read({ kind: 'stream', stream, ...range }).batches(signal)) {
      const records: StreamRecord<unknown>[] = []
      for (const { seq, timestamp, position, value } of batch) {
        try {
          const decoded: unknown = codecOf(value.encoding).decode(value.data)
          records.push({ seq, value: stored ? value : decoded, timestamp, position })
        } catch {
          if (records.length > 0) yield records
          throw await this.#damaged(stream, seq)
        }
      }
      yield records
    }
  }

  async #damaged(name: string, seq: number): Promise<Error> {
    const { path = '', retention } = (await this.info(name)) ?? {}
    // With retention, the record may be in any of several files.
    return changedFile(name, retention === undefined ? path : dirname(path), seq, 'the record is damaged')
  }

  async *readAll(range: AllBounds, signal: AbortSignal): Batches<CommittedRecord<unknown>> {
    // The next owner may have a higher generation, because its recovery has cut the log.
    const { identities } = this
    for await (const batch of this.#link.read({ kind: 'all', ...range }).batches(signal))
      yield batch.map(({ seq, timestamp, value: { data } }) => {
        return new EntryRecord(identities, { seq, timestamp, data }, decodeEntry(data, seq))
      })
  }

  /** Reads records in files from the files, and all others from the owner. */
  async read(stream: StreamView, from: number, body: Body): Promise<BodyRead> {
    const { name, created, visible } = stream
    if (from >= visible) return { next: from, timeMs: undefined }
    const request = (fromFile: boolean): Promise<unknown> =>
      this.#link.call({ op: 'body', stream: name, created, from, to: visible, maxBytes: body.left, fromFile })
    const answer = await request(false)
    if (Buffer.isBuffer(answer)) return addBody(answer, from, body)
    // Retention or a deletion may have removed the file, or this process may have no free descriptor: let the owner
    // read.
    const found = await this.#readFile(stream, answer as SentFile, from, body).catch(() => undefined)
    if (found === undefined) return addBody((await request(true)) as Buffer, from, body)
    // If the stream was deleted meanwhile, the file may be that of a new stream with the same name.
    if ((await this.find(name))?.created !== created) throw noSuchStream(name)
    const { size, ...read } = found
    body.stored(size)
    return read
  }

  async #readFile({ name, meta, visible }: StreamView, sent: SentFile, from: number, body: Body): Promise<FileRead> {
    const { fileName, end, index, ...file } = sent
    const disk = { ...file, index: Buffer.from(index, 'base64') }
    const folder = { files: this.#files, storage: await this.#opened() }
    const range = { from, to: Math.min(end, visible, disk.next) }
    return readFileBody(folder, { name, encoding: meta.encoding, fileName, disk }, range, body)
  }

  #opened(): Promise<NativeStreamFiles> {
    const { recordsFolder, indexFolder } = this.#files
    this.#storage ??= native.openStreamFiles(recordsFolder, indexFolder).catch((error) => {
      this.#storage = undefined
      throw error
    })
    return this.#storage
  }

  onChange(seen: SeenState, wake: () => void): () => void {
    const { name, created, visible, endVisible } = seen
    const key = JSON.stringify([name, created, visible, endVisible])
    const watch = this.#watches.get(key) ?? this.#watch(key, { name, created, visible, endVisible })
    watch.wakes.add(wake)
    return () => {
      if (watch.wakes.delete(wake) && watch.wakes.size === 0) watch.abort.abort()
    }
  }

  #watch(key: string, seen: SeenState): Watch {
    const watch: Watch = { wakes: new Set(), abort: new AbortController() }
    const ended = (): void => {
      if (this.#watches.get(key) === watch) this.#watches.delete(key)
      for (const wake of watch.wakes) wake()
    }
    watch.abort.signal.addEventListener('abort', ended)
    this.#watches.set(key, watch)
    // Also after a failure of the link: the caller's next call reports it.
    this.#link.read({ kind: 'change', seen }).batches(watch.abort.signal).next().then(ended, ended)
    return watch
  }

  async list(prefix: string, after: string, count: number): Promise<StreamView[]> {
    return (await this.#call<StreamView[]>({ op: 'streams', prefix, after, count })).map(receivedView)
  }

  count(prefix: string): Promise<number> {
    return this.#call({ op: 'count', prefix })
  }

  stats(): Promise<StreamsStats> {
    return this.#call({ op: 'stats' })
  }

  async cursor(name: string, options: CursorOptions): Promise<PortCursor> {
    this.#cursors.add(name)
    try {
      const opened = await this.#call<number>({ op: 'openCursor', name, options })
      return this.#openCursor(name, opened)
    } catch (error) {
      this.#cursors.delete(name)
      throw error
    }
  }

  #openCursor(name: string, opened: number): PortCursor {
    const cursor = {
      position: opened,
      read: (range: ReadBounds, signal: AbortSignal) => this.readAll({ ...range, from: cursor.position }, signal),
      commit: async (position: number, options: CommitOptions) => {
        cursor.position = await this.#call<number>({ op: 'commit', name, position, options })
      },
      close: async () => {
        this.#cursors.delete(name)
        await this.#call({ op: 'closeCursor', name }).catch((error) => {
          // Closing the folder closes its cursors.
          if (!isCode(error, 'ERR_DURLOG_CLOSED')) throw error
        })
      },
    }
    return cursor
  }

  async removeCursor(name: string): Promise<void> {
    const welcomes = this.#welcomes
    await this.#call({ op: 'removeCursor', name }).catch((error: unknown) => {
      // An owner that has removed it may have died before it answered: then the call is repeated with the next one.
      if (welcomes === this.#welcomes || !isCode(error, 'ERR_DURLOG_NOT_FOUND')) throw error
    })
  }

  checkpoint(): Promise<void> {
    return this.#call({ op: 'checkpoint' })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      await this.#link.close()
    } finally {
      const storage = await this.#storage?.catch(() => undefined)
      storage?.close()
    }
  }

  #remember(view: StreamView): void {
    const { name } = view
    this.#remembered.delete(name)
    this.#remembered.set(name, view)
    if (this.#remembered.size <= MAX_REMEMBERED) return
    const [oldest] = this.#remembered.keys()
    this.#remembered.delete(oldest as string)
  }
}

function plainGroup(stream: string, values: SentValues): Group {
  return { stream, created: undefined, values, conditions: NO_CONDITIONS }
}

/** Returns undefined if `groupOf` throws: then it is called again with a current view. */
function groupIn(view: StreamView, groupOf: (stream: StreamView) => KnownGroup): KnownGroup | undefined {
  try {
    return groupOf(view)
  } catch {
    return undefined
  }
}

function receivedView(view: StreamView): StreamView {
  // JSON has no Infinity, so it arrives as null.
  return { ...view, meta: loadedMeta(view.meta), lifeMs: view.lifeMs ?? Number.POSITIVE_INFINITY }
}

/** Restores the members with the value undefined, which JSON does not have, in the order of `StreamInfo`. */
function receivedInfo(info: object): StreamInfo {
  const { name, firstSeq, nextSeq, updatedAt, ended, encoding, ...rest } = info as StreamInfo
  const { contentType, ttlMs, expiresAt, fork, retention, fileBytes, path } = rest
  const options = { ended, encoding, contentType, ttlMs, expiresAt, fork, retention }
  return { name, firstSeq, nextSeq, updatedAt, ...options, fileBytes, path }
}
