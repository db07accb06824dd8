/**
 * `durlog streams DIR export` of all streams, and `import --keep`, which makes the same streams of its output: a line
 * for each stream, followed by a line for each of its records.
 */
import { isCode } from '../../errors.js'
import type { Folder } from '../../streams/api/folder.js'
import { type EncodedValue, RECORD_MAX_BYTES } from '../../streams/port/encoding.js'
import { contentTypeOf, defaultMeta } from '../../streams/port/meta.js'
import type { Stream, StreamCreateOptions, StreamEncoding, StreamInfo, StreamRecord } from '../../streams/port/types.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatCounted, writeJson, writeMessage, writeOut } from '../../terminal/output.js'
import { InputLines, isBlank, openInput, recordsIn } from '../input.js'
import { parseJsonLine } from '../records.js'
import { withProgress } from '../with-progress.js'
import { exportRecords } from './print.js'
import { storedJson } from './stored-json.js'

/** The largest number of appends in flight. */
const WINDOW = 256
/** A value of bytes is longer in base64, and a line has a seq and a time too. */
const LINE_MAX_BYTES = 2 * RECORD_MAX_BYTES
/** A line that `exportRecords` has written: its value is stored unchanged, because a parsed number may be rounded. */
const RECORD_LINE = /^\{"seq":\d+,"timestamp":\d+,"value":/

/** The first line of a stream: its options, apart from those that it does not have. */
interface StreamLine extends Omit<StreamCreateOptions<unknown>, 'values' | 'end'> {
  stream: string
  /** The seq of its first record. In a fork these are the records that were appended to the fork itself. */
  firstSeq: number
  ended?: true | undefined
}

/** Exports all streams in the order of their creation, so that a fork comes after its source. */
export async function exportAll(streams: Folder<unknown>, prefix: string | undefined): Promise<void> {
  const exported = new Set<string>()
  for await (const info of streams.list({ prefix })) {
    const { name, firstSeq, fork } = info
    // The records of a source that is deleted, or is not exported, become records of the fork.
    const shared = fork !== undefined && exported.has(fork.stream) ? fork : undefined
    const from = Math.max(firstSeq, shared?.seq ?? 0)
    try {
      await writeJson(lineOf(info, from, shared))
      await exportRecords(streams.stream(name).readStored({ from, to: info.nextSeq }))
      exported.add(name)
    } catch (error) {
      // It was deleted meanwhile.
      if (!isCode(error, 'ERR_DURLOG_NOT_FOUND')) throw error
    }
  }
}

function lineOf(info: StreamInfo, firstSeq: number, fork: StreamInfo['fork']): StreamLine {
  const { name, encoding, contentType, ttlMs, expiresAt, retention, ended } = info
  const isDefault = contentType === contentTypeOf(defaultMeta(encoding))
  return {
    stream: name,
    encoding,
    contentType: isDefault ? undefined : contentType,
    ttlMs,
    expiresAt,
    fork: fork && { ...fork, bytes: fork.bytes === 0 ? undefined : fork.bytes },
    retention,
    firstSeq,
    ended: ended || undefined,
  }
}

/**
 * Makes the streams of an export. Streams that exist must have the same records at the beginning, and are continued.
 * `folder` is called once the first line is valid.
 */
export async function importAll(
  folder: () => Promise<Folder<unknown>>,
  file: string,
  { json }: { json?: boolean },
): Promise<void> {
  await using input = await openInput(file)
  const splitter = new InputLines(LINE_MAX_BYTES, { remedy: 'a record of a stream cannot be longer' })
  const target = new ExportedStreams(folder)
  let line = 0
  await withProgress({ label: 'import', total: input.totalBytes, silent: json === true }, async (progress) => {
    for await (const lines of recordsIn(input, splitter, (bytes) => progress.advance(bytes))) {
      for (const bytes of lines) {
        line++
        if (!isBlank(bytes)) await target.take(bytes, `${file}:${line}`)
      }
    }
    await target.finish()
    await folder()
  })
  const { made, stored, refused } = target
  if (refused.length > 0) process.exitCode = ExitCode.badInput
  if (json) return writeJson({ streams: made, records: stored, refused })
  for (const { stream, error } of refused) writeMessage('durlog: ', `${stream}: ${error}`)
  await writeOut(
    `${formatCounted(made, 'stream')} with ${formatCounted(stored, 'new record')}${refused.length === 0 ? '' : `; ${refused.length} refused`}\n`,
  )
}

class ExportedStreams {
  /** The number of streams that are as in the export, and of new records. */
  made = 0
  stored = 0
  readonly refused: { stream: string; error: string }[] = []
  readonly #folder: () => Promise<Folder<unknown>>
  #stream: Stream<unknown> | undefined
  #ended = false
  #encoding: StreamEncoding = 'json'
  /** Records that the stream already has. */
  #existing: AsyncIterator<StreamRecord<EncodedValue>> | undefined
  #pending: Promise<unknown>[] = []

  constructor(folder: () => Promise<Folder<unknown>>) {
    this.#folder = folder
  }

  /** Takes the next line of the export. */
  async take(bytes: Buffer, place: string): Promise<void> {
    const value = parseJsonLine(bytes, place)
    if (typeof value !== 'object' || value === null)
      throw new InputError(`${place} is not a line of "durlog streams DIR export"`)
    if (Object.hasOwn(value, 'stream')) {
      await this.finish()
      const line = value as StreamLine
      const folder = await this.#folder()
      return this.#attempt(line.stream, () => this.#begin(folder, line))
    }
    const { seq, timestamp } = value as StreamRecord<unknown>
    if (!Number.isInteger(seq) || !Number.isInteger(timestamp) || !Object.hasOwn(value, 'value'))
      throw new InputError(
        `${place} has no "seq", "timestamp" and "value", so "durlog streams DIR export" has not written it; to store each line unchanged, omit --keep`,
      )
    const stream = this.#stream
    if (stream === undefined) {
      if (this.refused.length > 0) return
      throw new InputError(
        `${place}: the line of a stream, with "stream", must come before its records: export all streams`,
      )
    }
    await this.#attempt(stream.name, () => this.#append(stream, bytes, value as ExportedRecord))
  }

  /** Ends the stream of the lines so far. */
  async finish(): Promise<void> {
    const stream = this.#stream
    if (stream === undefined) return
    await this.#attempt(stream.name, async () => {
      await Promise.all(this.#pending)
      if (this.#ended) await stream.end()
      this.made++
    })
    this.#stream = undefined
    this.#pending = []
  }

  /** If `work` fails because of the stream, its other lines are skipped. */
  async #attempt(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const isOwn = error instanceof InputError || REFUSALS.some((code) => isCode(error, code))
      if (!isOwn) throw error
      this.refused.push({ stream: name, error: (error as Error).message })
      this.#stream = undefined
      await Promise.allSettled(this.#pending)
      this.#pending = []
    }
  }

  async #begin(folder: Folder<unknown>, { stream: name, firstSeq, ended, ...options }: StreamLine): Promise<void> {
    if (firstSeq > (options.fork?.seq ?? 0))
      throw new InputError(
        `it begins with seq ${firstSeq}, because retention has removed earlier records, but a new stream begins with seq 0; "durlog backup" keeps the seqs`,
      )
    const stream = folder.stream(name)
    await stream.create(options)
    this.#ended = ended === true
    this.#encoding = options.encoding ?? 'json'
    this.#existing = folder.stream(name).readStored({ from: firstSeq })[Symbol.asyncIterator]()
    this.#stream = stream
  }

  async #append(stream: Stream<unknown>, line: Buffer, record: ExportedRecord): Promise<void> {
    const { seq, timestamp } = record
    const value = storedValue(line, record, this.#encoding)
    const stored = await this.#existing?.next()
    if (stored?.done === false) {
      if (stored.value.seq === seq && isSame(stored.value.value, value)) return
      throw new InputError(`record ${seq} differs from the one that the stream has: import into an empty folder`)
    }
    this.#existing = undefined
    const done = stream.append(value, { expectedSeq: seq, timestamp }).then(() => {
      this.stored++
    })
    // Awaited later, in order: a rejection before that must not count as unhandled.
    done.catch(() => {})
    this.#pending.push(done)
    if (this.#pending.length >= WINDOW) await this.#pending.shift()
  }
}

interface ExportedRecord {
  seq: number
  timestamp: number
  value: unknown
  encoding?: 'base64'
}

/** The errors of an append or of a creation that concern a single stream. */
const REFUSALS = [
  'ERR_DURLOG_INVALID_ARGUMENT',
  'ERR_DURLOG_NOT_FOUND',
  'ERR_DURLOG_OUT_OF_RANGE',
  'ERR_DURLOG_RECORD_TOO_LARGE',
  'ERR_DURLOG_SEQ_CONFLICT',
  'ERR_DURLOG_STREAM_CHANGED',
  'ERR_DURLOG_STREAM_DELETED',
  'ERR_DURLOG_STREAM_ENDED',
  'ERR_DURLOG_STREAM_EXISTS',
] as const

type Value = Buffer | string | EncodedValue<Buffer>

function isSame({ data }: EncodedValue, value: Value): boolean {
  if (Buffer.isBuffer(value)) return value.equals(data)
  if (typeof value === 'string') return JSON.parse(data.toString()) === value
  return data.toString().trim() === value.data.toString().trim()
}

/** The value to append to a stream with the encoding `of`. */
function storedValue(line: Buffer, { value, encoding }: ExportedRecord, of: StreamEncoding): Value {
  if (encoding === 'base64') return Buffer.from(String(value), 'base64')
  if (of === 'utf8') return value as string
  const text = line.toString()
  const before = RECORD_LINE.exec(text)?.[0]
  const json = before === undefined ? JSON.stringify(value) : text.slice(before.length, text.lastIndexOf('}'))
  return storedJson(Buffer.from(json), value)
}
