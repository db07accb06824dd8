/** Serves a plain log as a stream, read-only. Readers get the records that the log's writer has synced. */
import { basename } from 'node:path'
import { DurlogError, invalidArgument } from '../errors.js'
import { open } from '../index.js'
import type { Body, BodyRead } from '../streams/body.js'
import { noSuchStream } from '../streams/decide.js'
import { codecOf } from '../streams/encoding.js'
import { EntryKind } from '../streams/entry.js'
import { checkStreamName } from '../streams/file-name.js'
import { FolderFiles } from '../streams/folder-files.js'
import { checkContentType, defaultMeta, mediaType, type StreamMeta } from '../streams/meta.js'
import { OwnedAccess } from '../streams/owned-access.js'
import { NO_DISK, NO_FILES, StreamState } from '../streams/state.js'
import { StreamIdentities } from '../streams/stream-identities.js'
import { StreamTable } from '../streams/table.js'
import type { StreamEncoding } from '../streams/types.js'
import { wait } from '../timers.js'
import type { LogRecord, ReadOnlyLog } from '../types.js'
import { isUncut } from '../uncut.js'
import { isOperation } from './operations.js'
import { serve } from './server.js'
import type { LogServerOptions, StreamsServer } from './types.js'

/** The number of records that are read at once. */
const READ_RECORDS = 1024
/** The pause after a failed read of the log. */
const RETRY_MS = 1000

/**
 * Serves the log in folder `dir`, read-only, as one stream. `url` of the server is the URL of this stream. Rejects with
 * the errors of `open` with `readOnly` and of `serveStreams`.
 */
export async function serveLog(dir: string | URL, options: LogServerOptions = {}): Promise<StreamsServer> {
  const { contentType = 'application/octet-stream', ...serverOptions } = options
  checkContentType('contentType', contentType)
  const log = new ServedLog(await open(dir, { readOnly: true }), contentType)
  try {
    const path = (options.prefix ?? '/') + encodeURIComponent(log.name)
    if (isOperation(path))
      throw invalidArgument(`the server answers ${path} itself: rename the folder of the log, or serve a symbolic link`)
    const server = await serve(log.access, { ...serverOptions, readOnly: true })
    const close = (): Promise<void> => server.close().then(() => log.close())
    return { url: server.url + path, setTls: server.setTls, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await log.close()
    throw error
  }
}

class ServedLog {
  /** The name of the stream: that of the log's folder. */
  readonly name: string
  readonly access: OwnedAccess
  readonly #log: ReadOnlyLog
  readonly #meta: StreamMeta
  readonly #table = new StreamTable()
  readonly #closing = new AbortController()
  readonly #following: Promise<void>

  constructor(log: ReadOnlyLog, contentType: string) {
    this.#log = log
    this.name = basename(log.dir)
    checkStreamName(this.name)
    const encoding = mediaType(contentType) === 'application/json' ? 'json' : 'bytes'
    this.#meta = { ...defaultMeta(encoding), contentType }
    this.access = this.#makeAccess(encoding)
    this.#take(log.syncedSeq)
    this.#following = this.#follow()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#following
    await this.#log.close()
  }

  #makeAccess(encoding: StreamEncoding): OwnedAccess {
    const refuse = (): Promise<never> =>
      Promise.reject(
        new DurlogError('ERR_DURLOG_UNSUPPORTED', 'a log is served read-only: append to it with its writer'),
      )
    return new OwnedAccess({
      // The generation is the identity of the stream, see #take.
      identities: new StreamIdentities(this.#log.uuid, 0),
      files: new FolderFiles(this.#log.dir),
      encoding,
      codecOf,
      table: () => this.#table,
      find: this.#table.find,
      checkOpen: () => {},
      append: refuse,
      groupThen: (_items, settle) => settle(refuse()),
      submit: refuse,
      removeExpired: () => {},
      read: (state, from, to, body) => this.#read(state, from, to, body),
    })
  }

  /**
   * Updates the stream to the bounds of the log. After a truncation of the log, other records can have the old seqs, so
   * a new stream replaces this one.
   */
  #take(syncedSeq: number): void {
    const { firstSeq, generation } = this.#log
    let state = this.#table.find(this.name)
    if (state?.created !== generation) {
      state = new StreamState(this.name, generation, NO_DISK, NO_FILES, this.#meta, undefined)
      this.#table.streams.set(this.name, state)
      this.#table.wakeAll()
    }
    state.disk = { ...NO_DISK, first: firstSeq }
    this.#table.acknowledged(EntryKind.append, Math.max(syncedSeq, firstSeq - 1), state)
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const from = this.#table.find(this.name)?.visible ?? 0
      try {
        await using reader = this.#log.read({ from, follow: true, durableOnly: true, signal })
        const { value } = await reader.next()
        await this.#log.refresh()
        this.#take(Math.max(value?.seq ?? -1, this.#log.syncedSeq))
      } catch {
        await this.#recover(signal)
      }
    }
  }

  /** Tries again: at once if the log was truncated, otherwise later. */
  async #recover(signal: AbortSignal): Promise<void> {
    const state = this.#table.find(this.name)
    await this.#update().catch(() => {})
    if (state === this.#table.find(this.name)) await wait(RETRY_MS, { signal }).catch(() => {})
  }

  async #update(): Promise<void> {
    await this.#log.refresh()
    this.#take(this.#log.syncedSeq)
  }

  async #read({ name, created }: StreamState, from: number, to: number, body: Body): Promise<BodyRead> {
    try {
      const records = await this.#records(from, to, body.left)
      const next = records.length === 0 ? to : (records.at(-1) as LogRecord).seq + 1
      // Without a readable list of cuts, cuts cannot be detected.
      if (created === -1 || (await isUncut(this.#log, created, next))) return addRecords(records, next, body)
    } catch (error) {
      // The log was trimmed or truncated, or cannot be read.
      await this.#update()
      if (this.#log.generation === created) throw error
      throw noSuchStream(name)
    }
    await this.#update()
    throw noSuchStream(name)
  }

  /** Reads records of about `maxBytes`. If there are none, the log has none from `from` to before `to`. */
  async #records(from: number, to: number, maxBytes: number): Promise<LogRecord[]> {
    const records: LogRecord[] = []
    let bytes = 0
    for await (const record of this.#log.read({ from, to })) {
      // A copy, because the reader reuses its memory.
      records.push({ ...record, data: Buffer.from(record.data) })
      bytes += record.data.length
      if (records.length === READ_RECORDS || bytes >= maxBytes) break
    }
    return records
  }
}

/** Adds `records` to `body` until one does not fit. `end` is the seq after the last one. */
function addRecords(records: readonly LogRecord[], end: number, body: Body): BodyRead {
  const timeMs = records[0]?.timestamp
  for (const { seq, data } of records) if (!body.add(data)) return { next: seq, timeMs }
  return { next: end, timeMs }
}
