/** A Node stream that appends. */
import { Writable } from 'node:stream'
import type { Codec } from '../options/encoding.js'
import type { LogWritable, Payload } from '../types.js'
import type { Reached } from './append-in-order.js'
import { LineSplitter } from './line-splitter.js'

/** Appends in order, and nothing after the first that fails. */
export type AppendInOrder = (list: readonly Payload[]) => Promise<Reached>
type WriteCallback = (error?: Error | null) => void

export interface ResolvedWritable {
  highWaterMark: number
  /** Chunks and lines without a byte make no record. */
  skipEmpty: boolean
  /** Lines are records, wherever chunks end. */
  lines: boolean
  maxRecordBytes: number
  /** For chunks that are values. */
  codec: Codec | undefined
}

/** A stream that makes each chunk, or each line, one record. */
export function makeWritable(append: AppendInOrder, options: ResolvedWritable): LogWritable {
  return new RecordWritable(append, options)
}

/** What chunks that are appended together come to. */
interface Group {
  records: Payload[]
  /** How many of the records there are up to the end of each chunk. */
  ends: number[]
  /** Why the chunk after the last has no records. */
  failure: { error: unknown } | undefined
}

/** Node gives a group of chunks one result; each chunk's callback gets its own. */
class RecordWritable extends Writable implements LogWritable {
  appended = 0
  lastSeq = -1
  readonly #append: AppendInOrder
  readonly #options: ResolvedWritable
  readonly #splitter: LineSplitter | undefined
  /** Chunks taken by `write`, and how many have reached their level. */
  #taken = 0
  #reached = 0

  constructor(append: AppendInOrder, options: ResolvedWritable) {
    super({ highWaterMark: options.highWaterMark, objectMode: options.codec !== undefined })
    this.#append = append
    this.#options = options
    this.#splitter = options.lines ? new LineSplitter(options.maxRecordBytes, options.skipEmpty) : undefined
  }

  override write(chunk: unknown, callback?: WriteCallback): boolean
  override write(chunk: unknown, encoding: BufferEncoding, callback?: WriteCallback): boolean
  override write(chunk: unknown, encoding?: BufferEncoding | WriteCallback, callback?: WriteCallback): boolean {
    const told = typeof encoding === 'function' ? encoding : callback
    const index = this.#taken
    const own = told && ((error?: Error | null) => told(index < this.#reached ? null : error))
    const more = super.write(chunk, (typeof encoding === 'string' ? encoding : undefined) as BufferEncoding, own)
    this.#taken++
    return more
  }

  override _write(chunk: unknown, _encoding: BufferEncoding, callback: WriteCallback): void {
    this.#store([chunk], callback)
  }

  /** Chunks that came while earlier ones were pending are appended as one group. */
  override _writev(chunks: { chunk: unknown }[], callback: WriteCallback): void {
    this.#store(
      chunks.map(({ chunk }) => chunk),
      callback,
    )
  }

  /** The last line may have no newline. */
  override _final(callback: WriteCallback): void {
    const last = this.#splitter?.last()
    if (last === undefined) callback()
    else this.#appendGroup({ records: [last], ends: [], failure: undefined }, callback)
  }

  #store(chunks: unknown[], callback: WriteCallback): void {
    const group: Group = { records: [], ends: [], failure: undefined }
    for (const chunk of chunks) {
      try {
        this.#take(chunk, group.records)
      } catch (error) {
        group.failure = { error }
        break
      }
      group.ends.push(group.records.length)
    }
    this.#appendGroup(group, callback)
  }

  #take(chunk: unknown, records: Payload[]): void {
    const { codec, skipEmpty } = this.#options
    if (codec !== undefined) return void records.push(codec.encode(chunk))
    const bytes = chunk as Buffer
    if (this.#splitter !== undefined) this.#splitter.split(bytes, records as Buffer[])
    else if (bytes.length > 0 || !skipEmpty) records.push(bytes)
  }

  #appendGroup({ records, ends, failure }: Group, callback: WriteCallback): void {
    this.#append(records).then((appended) => {
      this.appended += appended.reached
      if (appended.reached > 0) this.lastSeq = appended.lastSeq
      const whole = ends.findIndex((end) => end > appended.reached)
      this.#reached += whole === -1 ? ends.length : whole
      const failed = appended.failure ?? failure
      callback(failed === undefined ? null : (failed.error as Error))
    }, callback)
  }
}
