/** The access of `durlog/http` to a folder of streams whose owner is another process, or another thread of this one. */
import { isCode } from '../../errors.js'
import { native } from '../../native/native.js'
import type { NativeStreamFiles } from '../../native/stream-files.js'
import type { EncodedCreation, Group, SeenState, StreamsAccess, StreamsStats, StreamView } from '../access.js'
import type { Body, BodyRead } from '../body.js'
import { type FileRead, readFileBody } from '../body-source.js'
import type { Settle } from '../call.js'
import { noSuchStream } from '../decide.js'
import { EncodedValue } from '../encoding.js'
import type { FolderFiles } from '../folder-files.js'
import { loadedMeta } from '../meta.js'
import type { StreamIdentities } from '../stream-identities.js'
import type { StreamAppendResult } from '../types.js'
import { appendFrame } from './append-frame.js'
import type { Link } from './link.js'
import { addBody, type SentFile, SubmitOp } from './messages.js'

/** The maximum number of remembered streams. */
const MAX_REMEMBERED = 16_384

/** One request to the owner for all callers that wait for the same change. */
interface Watch {
  readonly wakes: Set<() => void>
  readonly abort: AbortController
}

export class RemoteAccess implements StreamsAccess {
  readonly #link: Link
  readonly #files: FolderFiles
  /** Opened by the first read of a file. */
  #storage: Promise<NativeStreamFiles> | undefined
  /** Earlier views of streams. An append takes from them the properties that never change while the stream exists. */
  readonly #remembered = new Map<string, StreamView>()
  readonly #watches = new Map<string, Watch>()

  constructor(link: Link, files: FolderFiles) {
    this.#link = link
    this.#files = files
  }

  /** Callers have found a stream, so there was an owner. */
  get identities(): StreamIdentities {
    return this.#link.identities as StreamIdentities
  }

  checkOpen(): void {
    this.#link.checkOpen()
  }

  async find(name: string, isRead = false): Promise<StreamView | undefined> {
    const found = (await this.#link.call({ op: 'find', stream: name, isRead })) as StreamView | undefined
    if (found === undefined) {
      this.#remembered.delete(name)
      return undefined
    }
    const view = receivedView(found)
    this.#remember(view)
    return view
  }

  async inherits(name: string, identity: string, seq: number): Promise<boolean> {
    return (await this.#link.call({ op: 'inherits', stream: name, identity, seq })) as boolean
  }

  async producerSeq(name: string, id: string): Promise<number | undefined> {
    return (await this.#link.call({ op: 'producerSeq', stream: name, producer: id })) as number | undefined
  }

  append(name: string, groupOf: (stream: StreamView | undefined) => Group, settle: Settle<StreamAppendResult>): void {
    const refuse = (error: unknown): void => settle(Promise.reject(error))
    const appendNow = (): void => {
      this.#appendNow(name, groupOf).then(settle, refuse)
    }
    const view = this.#remembered.get(name)
    const group = view && groupIn(view, groupOf)
    if (view === undefined || group === undefined) appendNow()
    else
      this.#submit(view, group, settle, (error) =>
        isCode(error, 'ERR_DURLOG_NOT_FOUND') ? appendNow() : refuse(error),
      )
  }

  async #appendNow(name: string, groupOf: (stream: StreamView | undefined) => Group): Promise<StreamAppendResult> {
    const view = await this.find(name)
    const group = groupOf(view)
    if (view === undefined) throw noSuchStream(name)
    return new Promise((resolve, reject) => this.#submit(view, group, resolve, reject))
  }

  #submit(
    view: StreamView,
    group: Group,
    resolve: (result: StreamAppendResult) => void,
    reject: (error: unknown) => void,
  ): void {
    this.#link.submitThen(
      (maker, number) => appendFrame(maker, number, view, group),
      ([result]) => resolve(result as StreamAppendResult),
      reject,
    )
  }

  async create(name: string, request: EncodedCreation, values: readonly (Buffer | string)[]): Promise<boolean> {
    const sent = values.map((value) => new EncodedValue(request.meta.encoding, value))
    const [first] = await this.#link.submit(SubmitOp.create, name, sent, request)
    return first?.duplicate === false
  }

  async delete(name: string): Promise<boolean> {
    const [result] = await this.#link.submit(SubmitOp.delete, name, [])
    return result?.duplicate === false
  }

  /** Reads records in files from the files, and all others from the owner. */
  async read(stream: StreamView, from: number, body: Body): Promise<BodyRead> {
    const { name, created, visible } = stream
    if (from >= visible) return { next: from, timeMs: undefined }
    const request = (fromFile: boolean): Promise<unknown> =>
      this.#link.call({ op: 'body', stream: name, created, from, to: visible, maxBytes: body.left, fromFile })
    const answer = await request(false)
    if (Buffer.isBuffer(answer)) return addBody(answer, from, body)
    // Retention or a deletion may have removed the file, or this process may have no free descriptor: let the owner read.
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

  /** Closes the folders that reads have opened. */
  async close(): Promise<void> {
    const storage = await this.#storage?.catch(() => undefined)
    storage?.close()
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
    this.#changed(seen, watch.abort.signal).then(ended, ended)
    return watch
  }

  async #changed(seen: SeenState, signal: AbortSignal): Promise<void> {
    await this.#link.read({ kind: 'change', seen }).records(signal).next()
  }

  async list(prefix: string, after: string, count: number): Promise<StreamView[]> {
    const found = (await this.#link.call({ op: 'streams', prefix, after, count })) as StreamView[]
    return found.map(receivedView)
  }

  async count(prefix: string): Promise<number> {
    return (await this.#link.call({ op: 'count', prefix })) as number
  }

  async stats(): Promise<StreamsStats> {
    return (await this.#link.call({ op: 'stats' })) as StreamsStats
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

/** Returns undefined if `groupOf` throws: then it is called again with a current view. */
function groupIn(view: StreamView, groupOf: (stream: StreamView) => Group): Group | undefined {
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
