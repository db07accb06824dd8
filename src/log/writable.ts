/** A Node stream that appends its chunks, or their lines, to a log. */
import { Writable } from 'node:stream'
import { DurlogError } from '../errors.js'
import { checkText, ownBytes, resolveWritableOptions } from '../options/call-options.js'
import type { Codec } from '../options/encoding.js'
import type { ResolvedOptions } from '../options/open-options.js'
import { LineSplitter } from '../support/line-splitter.js'
import { TimeSlice } from '../support/time-slice.js'
import { nextTurn } from '../timers.js'
import type { LogWritable, Payload, WritableOptions } from '../types.js'
import { appendInOrder, type Reached } from './append/append-in-order.js'
import type { WritePipeline } from './append/write-pipeline.js'

/** Appends records in order, and stops at the first record that fails. */
type AppendInOrder = (list: readonly Payload[]) => Promise<Reached>
type WriteCallback = (error?: Error | null) => void

/** A chunk as Node passes it: the encoding is that of a string. */
interface WrittenChunk {
  chunk: unknown
  encoding: BufferEncoding
}

interface ResolvedWritable {
  highWaterMark: number
  /** Whether empty chunks and lines are skipped. */
  skipEmpty: boolean
  /** Whether each line is a record, independent of the chunks. */
  lines: boolean
  maxRecordBytes: number
  /** Encodes each chunk, if chunks are values. */
  codec: Codec | undefined
}

/** Makes a stream that appends each chunk, or each line, as one record. `log` holds the options of the open log. */
export function makeWritable(
  pipeline: WritePipeline,
  log: ResolvedOptions,
  options: WritableOptions | undefined,
): LogWritable {
  pipeline.checkOpen()
  // For the encodings `utf8` and `buffer`, the stream itself accepts text and bytes.
  const codec = log.codec?.objects ? log.codec : undefined
  const { level, ...chunks } = resolveWritableOptions(options, log.level, codec !== undefined)
  const { maxRecordBytes } = log.native
  return new RecordWritable((list) => appendInOrder(pipeline, list, level), { ...chunks, maxRecordBytes, codec })
}

type AppendFailure = NonNullable<Reached['failure']>
/** A value in object mode, encoded by the call that wrote it. */
type EncodedChunk = { record: Payload } | AppendFailure

const MAX_GROUP_RECORDS = 4096
const MAX_GROUP_BYTES = 2 ** 20

/** Records that are appended together. They are collected in one turn of the event loop. */
class WriteGroup {
  readonly records: Payload[] = []
  /** For each chunk that ends in the group: the number of records in the group up to the end of that chunk. */
  readonly ends: number[] = []
  readonly #slice = new TimeSlice()
  #taken = 0
  #bytes = 0

  /** Must be called before each `add`. Counts empty lines that are skipped too, because finding them takes time. */
  isFull(): boolean {
    return this.#taken >= MAX_GROUP_RECORDS || this.#bytes >= MAX_GROUP_BYTES || this.#slice.isOver()
  }

  add(record: Payload, skipEmpty: boolean): void {
    this.#taken++
    this.#bytes += record.length
    if (record.length > 0 || !skipEmpty) this.records.push(record)
  }

  endChunk(): void {
    this.ends.push(this.records.length)
  }
}

/**
 * Node gives all chunks of a `_writev` call the same result. This class gives the callback of each chunk a separate
 * result.
 */
class RecordWritable extends Writable implements LogWritable {
  appended = 0
  lastSeq = -1
  readonly #append: AppendInOrder
  readonly #options: ResolvedWritable
  readonly #splitter: LineSplitter | undefined
  /** The number of chunks passed to `write`, and the number of chunks whose records have all reached their level. */
  #taken = 0
  #reached = 0

  constructor(append: AppendInOrder, options: ResolvedWritable) {
    super({ highWaterMark: options.highWaterMark, objectMode: options.codec !== undefined, decodeStrings: false })
    this.#append = append
    this.#options = options
    this.#splitter = options.lines
      ? new LineSplitter(options.maxRecordBytes, () => tooLongError(options.maxRecordBytes))
      : undefined
  }

  override write(chunk: unknown, callback?: WriteCallback): boolean
  override write(chunk: unknown, encoding: BufferEncoding, callback?: WriteCallback): boolean
  override write(chunk: unknown, encoding?: BufferEncoding | WriteCallback, callback?: WriteCallback): boolean {
    const done = typeof encoding === 'function' ? encoding : callback
    const index = this.#taken
    const own = done && ((error?: Error | null) => done(index < this.#reached ? null : error))
    const more = super.write(
      this.#own(chunk),
      (typeof encoding === 'string' ? encoding : undefined) as BufferEncoding,
      own,
    )
    this.#taken++
    return more
  }

  override end(callback?: () => void): this
  override end(chunk: unknown, callback?: () => void): this
  override end(chunk: unknown, encoding: BufferEncoding, callback?: () => void): this
  override end(chunk?: unknown, encoding?: BufferEncoding | (() => void), callback?: () => void): this {
    const own = chunk === undefined || typeof chunk === 'function' ? chunk : this.#own(chunk)
    return super.end(own, encoding as BufferEncoding, callback)
  }

  override _write(chunk: unknown, encoding: BufferEncoding, callback: WriteCallback): void {
    this.#store([{ chunk, encoding }], callback)
  }

  /**
   * Node calls this with the chunks that were written while earlier chunks were pending. They are appended together.
   */
  override _writev(chunks: WrittenChunk[], callback: WriteCallback): void {
    this.#store(chunks, callback)
  }

  /** Appends the last line if it has no newline. */
  override _final(callback: WriteCallback): void {
    const last = this.#splitter?.last()
    const group = new WriteGroup()
    if (last !== undefined) group.add(last, false)
    report(this.#appendGroup(group), callback)
  }

  /** Returns the content that the chunk has now: the chunk may wait, and the caller may change it meanwhile. */
  #own(chunk: unknown): unknown {
    const { codec } = this.#options
    return codec === undefined || chunk === null ? ownBytes(chunk) : encodedChunk(codec, chunk)
  }

  #store(chunks: readonly WrittenChunk[], callback: WriteCallback): void {
    report(this.#appendChunks(chunks), callback)
  }

  /**
   * Appends the chunks in groups, with a turn of the event loop between two groups. Returns the first failure. Appends
   * no further group once the stream is destroyed.
   */
  async #appendChunks(chunks: readonly WrittenChunk[]): Promise<AppendFailure | undefined> {
    let group = new WriteGroup()
    for (const chunk of chunks) {
      try {
        for (const record of this.#recordsOf(chunk)) {
          if (group.isFull()) {
            const failure = await this.#appendGroup(group)
            if (failure !== undefined) return failure
            group = new WriteGroup()
            await nextTurn()
            if (this.destroyed) return { error: this.errored ?? destroyedError() }
          }
          group.add(record, this.#options.skipEmpty)
        }
      } catch (error) {
        return (await this.#appendGroup(group)) ?? { error }
      }
      group.endChunk()
    }
    return this.#appendGroup(group)
  }

  /**
   * Yields records one at a time, because a chunk may hold more lines than one turn of the event loop should process.
   */
  #recordsOf({ chunk, encoding }: WrittenChunk): Iterable<Payload> {
    if (this.#options.codec !== undefined) {
      const encoded = chunk as EncodedChunk
      if ('error' in encoded) throw encoded.error
      return [encoded.record]
    }
    const bytes = typeof chunk === 'string' ? bytesOf(chunk, encoding) : (chunk as Buffer)
    return this.#splitter?.split(bytes) ?? [bytes]
  }

  /** Returns the error of the first record that was not stored. */
  async #appendGroup({ records, ends }: WriteGroup): Promise<AppendFailure | undefined> {
    const { reached, lastSeq, failure } = await this.#append(records)
    this.appended += reached
    if (reached > 0) this.lastSeq = lastSeq
    const whole = ends.findIndex((end) => end > reached)
    this.#reached += whole === -1 ? ends.length : whole
    return failure
  }
}

function encodedChunk(codec: Codec, value: unknown): EncodedChunk {
  try {
    return { record: ownBytes(codec.encode(value)) }
  } catch (error) {
    return { error }
  }
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT for half of a surrogate pair, which Node would replace. */
function bytesOf(text: string, encoding: BufferEncoding): Buffer {
  if (/^utf-?8$/i.test(encoding)) checkText(text)
  return Buffer.from(text, encoding)
}

function tooLongError(maxBytes: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_RECORD_TOO_LARGE',
    `a record has at most ${maxBytes} bytes (maxRecordBytes); got a line of more than that`,
  )
}

function destroyedError(): DurlogError {
  return new DurlogError('ERR_DURLOG_CLOSED', 'the stream was destroyed before every record of the chunk was appended')
}

function report(appended: Promise<AppendFailure | undefined>, callback: WriteCallback): void {
  appended.then((failure) => callback(failure === undefined ? null : (failure.error as Error)), callback)
}
