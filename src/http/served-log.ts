/** Serves a plain log as a stream, read-only. Readers get the records that the log's writer has synced. */
import { basename } from 'node:path'
import { DurlogError, invalidArgument } from '../errors.js'
import { open } from '../index.js'
import type { Body, BodyRead } from '../streams/port/body.js'
import { checkStreamName } from '../streams/port/file-name.js'
import { checkContentType, defaultMeta, mediaType, type StreamMeta } from '../streams/port/meta.js'
import type { SeenState, ServedPort, StreamsStats, StreamView } from '../streams/port/port.js'
import { StreamIdentities } from '../streams/port/stream-identities.js'
import { noSuchStream } from '../streams/state/decide.js'
import { queueMicrotask, wait } from '../timers.js'
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
    const server = await serve(log, { ...serverOptions, readOnly: true })
    const close = (): Promise<void> => server.close().then(() => log.close())
    return { url: server.url + path, setTls: server.setTls, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await log.close()
    throw error
  }
}

/** The log as a folder with one stream, which cannot be changed. */
class ServedLog implements ServedPort {
  /** The name of the stream: that of the log's folder. */
  readonly name: string
  /** The number of truncations is the identity of the stream, see `#viewAt`. */
  readonly identities: StreamIdentities
  readonly checkpointFailure: undefined
  readonly #log: ReadOnlyLog
  readonly #meta: StreamMeta
  #view: StreamView
  /** The requests that wait for a change of the stream. */
  readonly #waiting = new Set<() => void>()
  readonly #closing = new AbortController()
  readonly #following: Promise<void>

  constructor(log: ReadOnlyLog, contentType: string) {
    this.#log = log
    this.identities = new StreamIdentities(log.uuid, 0)
    this.name = basename(log.dir)
    checkStreamName(this.name)
    const encoding = mediaType(contentType) === 'application/json' ? 'json' : 'buffer'
    this.#meta = { ...defaultMeta(encoding), contentType }
    this.#view = this.#viewAt(log.syncedSeq)
    this.#following = this.#follow()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#following
    await this.#log.close()
  }

  checkOpen(): void {}

  async checkReadable(): Promise<void> {
    await this.#log.refresh()
    await using reader = this.#log.read({ from: -1, durableOnly: true })
    await reader.next()
  }

  find(name: string): StreamView | undefined {
    return name === this.name ? this.#view : undefined
  }

  inherits(): boolean {
    return false
  }

  lastAppend(): undefined {}

  appendTo(): never {
    throw readOnly()
  }

  async create(): Promise<never> {
    throw readOnly()
  }

  async delete(): Promise<never> {
    throw readOnly()
  }

  onChange(seen: SeenState, wake: () => void): () => void {
    const look = (): void => {
      const { created, visible } = this.#view
      if (created === seen.created && visible <= seen.visible) return
      this.#waiting.delete(look)
      wake()
    }
    this.#waiting.add(look)
    queueMicrotask(() => this.#waiting.has(look) && look())
    return () => this.#waiting.delete(look)
  }

  list(prefix: string, after: string, count: number): StreamView[] {
    return this.name.startsWith(prefix) && this.name > after ? [this.#view].slice(0, count) : []
  }

  count(prefix: string): number {
    return this.name.startsWith(prefix) ? 1 : 0
  }

  stats(): StreamsStats {
    return { streams: 1, memTableBytes: 0 }
  }

  /** After a truncation of the log, other records can have the old seqs, so `created` is the number of truncations. */
  #viewAt(syncedSeq: number): StreamView {
    const { firstSeq, generation: created } = this.#log
    const visible = Math.max(syncedSeq + 1, firstSeq)
    const state = { ended: false, endVisible: false, softDeleted: false, lifeMs: Number.POSITIVE_INFINITY }
    return { name: this.name, created, meta: this.#meta, firstSeq, visible, ...state }
  }

  /** Updates the stream to the bounds of the log. */
  #take(syncedSeq: number): void {
    const before = this.#view
    const now = this.#viewAt(syncedSeq)
    const visible = now.created === before.created ? Math.max(now.visible, before.visible) : now.visible
    this.#view = { ...now, visible }
    for (const look of this.#waiting) look()
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const { visible: from, created } = this.#view
      try {
        await using reader = this.#log.read({ from, follow: true, durableOnly: true, signal })
        const { value } = await reader.next()
        await this.#log.refresh()
        // A truncation since then may have removed the record.
        const found = this.#log.generation === created ? value?.seq : undefined
        this.#take(Math.max(found ?? -1, this.#log.syncedSeq))
      } catch {
        await this.#recover(signal)
      }
    }
  }

  /** Tries again: at once if the log was truncated, otherwise later. */
  async #recover(signal: AbortSignal): Promise<void> {
    const { created } = this.#view
    await this.#update().catch(() => {})
    if (created === this.#view.created) await wait(RETRY_MS, { signal }).catch(() => {})
  }

  async #update(): Promise<void> {
    await this.#log.refresh()
    this.#take(this.#log.syncedSeq)
  }

  async read({ name, created, visible: to }: StreamView, from: number, body: Body): Promise<BodyRead> {
    if (created !== this.#view.created) throw noSuchStream(name)
    try {
      const records = await this.#records(from, to, body.left)
      const next = records.length === 0 ? to : (records.at(-1) as LogRecord).seq + 1
      // Without a readable list of cuts, cuts cannot be detected.
      if (created === -1 || (await isUncut(this.#log, created, next))) return addRecords(records, next, body)
    } catch (error) {
      // The log was trimmed or truncated, or cannot be read.
      await this.#update().catch(unreadable)
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

function readOnly(): DurlogError {
  return new DurlogError('ERR_DURLOG_UNSUPPORTED', 'a log is served read-only: append to it with its writer')
}

/** A folder that was moved or unmounted must not look like a stream that was deleted. */
function unreadable(cause: unknown): never {
  throw new DurlogError('ERR_DURLOG_IO', `the log cannot be read: ${(cause as Error).message}`, { cause })
}

/** Adds `records` to `body` until one does not fit. `end` is the seq after the last one. */
function addRecords(records: readonly LogRecord[], end: number, body: Body): BodyRead {
  const timeMs = records[0]?.timestamp
  for (const { seq, data } of records) if (!body.add(data)) return { next: seq, timeMs }
  return { next: end, timeMs }
}
