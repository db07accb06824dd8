/**
 * Reads the records of a stream from its files, by their indexes, up to the last checkpoint. One file is open at a
 * time.
 */
import { DurlogError } from '../../errors.js'
import { native } from '../../native/native.js'
import { codecOf, decodeLines, type StreamCodec } from '../port/encoding.js'
import type { StreamRecord } from '../port/types.js'
import { EMPTY } from '../state/entry.js'
import { INDEX_ENTRY_BYTES, IndexPart } from '../state/record-index.js'
import type { FileDisk, StreamState } from '../state/state.js'
import { frameData } from './file-format.js'
import { problemOf, ReadFile, readRange } from './file-io.js'
import type { FolderFiles } from './folder-files.js'

/** The limits of one read of a file. A record that is longer than the limit is read whole. */
const CHUNK_RECORDS = 1024
const CHUNK_BYTES_OF_LINES = 1 << 18
/** A frame takes less time to decode than a line, so a turn of the event loop can decode more bytes. */
const CHUNK_BYTES_OF_FRAMES = 1 << 20
/**
 * The number of bytes that are decoded at once. With more, the decoded strings and objects would not fit into the
 * processor's caches.
 */
const PIECE_BYTES = 1 << 14
/** The number of index entries that are read at once. */
const INDEX_RECORDS = 8192
const NEWLINE = 0x0a

const NO_PART = new IndexPart(0, EMPTY, 0)

/** The records from seq `from` to seq `to` - 1. */
interface FileChunk {
  from: number
  to: number
  index: IndexPart
  /** The offset of `bytes` in the file. */
  start: number
  bytes: Buffer
}

const NO_CHUNK: FileChunk = { from: 0, to: 0, index: NO_PART, start: 0, bytes: EMPTY }

export class StreamFile {
  readonly #files: FolderFiles
  readonly #owner: Pick<StreamState, 'name' | 'fileName'>
  readonly #codec: StreamCodec
  #file: ReadFile | undefined
  #index: ReadFile | undefined
  /** The index entries that were read last. */
  #part = NO_PART
  /** The chunk from which `read` returns records. */
  #chunk = NO_CHUNK
  /** The next chunk, which is being read ahead. */
  #ahead: { first: number; from: number; chunk: Promise<FileChunk> } | undefined
  /** The first seq of the open file, which identifies it. */
  #first = 0
  /** The number of bytes that were read from the beginning of the file without a gap, and their CRC-32C. */
  #checked = 0
  #crc = 0

  constructor(files: FolderFiles, owner: Pick<StreamState, 'name' | 'fileName'>, codec: StreamCodec) {
    this.#files = files
    this.#owner = owner
    this.#codec = codec
  }

  /**
   * Returns at least one record from seq `from` on, which must be in the file that `disk` describes. Throws
   * ERR_DURLOG_STREAM_CHANGED if that record is damaged: the records before a damaged one are returned first.
   */
  async read<V>(disk: FileDisk, from: number): Promise<StreamRecord<V>[]> {
    if (disk.first !== this.#first || from < this.#chunk.from || from >= this.#chunk.to)
      this.#chunk = await this.#nextChunk(disk, from)
    const chunk = this.#chunk
    const { index, to } = chunk
    const values = this.#values(chunk, from, index.nextAfter(index.end(from - 1) + PIECE_BYTES, from, to - 1))
    const next = from + values.length
    if (next === to) this.#chunk = NO_CHUNK
    const records: StreamRecord<V>[] = []
    for (let seq = from; seq < next; seq++)
      records.push({
        seq,
        value: values[seq - from] as V,
        timestamp: index.timeMs(seq),
        position: index.position(seq),
      })
    return records
  }

  async #nextChunk(disk: FileDisk, from: number): Promise<FileChunk> {
    const ahead = this.#ahead
    this.#ahead = undefined
    const isNext = ahead?.first === disk.first && ahead.from === from
    if (!isNext) await ahead?.chunk.catch(() => {})
    const chunk = await (isNext ? ahead.chunk : this.#readChunk(disk, from))
    if (!this.#checksumMatches(disk, chunk)) {
      const damaged = this.#firstDamaged(chunk)
      if (damaged === undefined)
        throw this.#changed(
          from,
          'the checksum of the file is wrong, so this record or another one of the file was replaced',
        )
      // `read` reports the damage when it reaches the record.
      if (damaged > from) return { ...chunk, to: damaged }
    }
    if (chunk.to < disk.next) this.#readAhead(disk, chunk.to)
    return chunk
  }

  /** Reads the next chunk while the caller uses this one. */
  #readAhead(disk: FileDisk, from: number): void {
    const { first } = disk
    const chunk = this.#readChunk(disk, from)
    // The error is reported if the caller reads on.
    chunk.catch(() => {})
    this.#ahead = { first, from, chunk }
  }

  /** The seq of the first record from `from` on that is damaged; undefined if the next records are intact. */
  async damagedFrom(disk: FileDisk, from: number): Promise<number | undefined> {
    return this.#firstDamaged(await this.#readChunk(disk, from))
  }

  #firstDamaged({ index, start, bytes, from, to }: FileChunk): number | undefined {
    const codec = codecOf(this.#codec.name)
    for (let seq = from; seq < to; seq++)
      if (storedValue(codec, bytes.subarray(index.end(seq - 1) - start, index.end(seq) - start)) === DAMAGED) return seq
    return undefined
  }

  /** Reads at least the record `from`; fewer records if the index or the file ends or is damaged after it. */
  async #readChunk(disk: FileDisk, from: number): Promise<FileChunk> {
    if (disk.first !== this.#first) await this.#closeFiles()
    this.#first = disk.first
    const index = await this.#entries(disk, from)
    const start = index.end(from - 1)
    const most = this.#codec.lines ? CHUNK_BYTES_OF_LINES : CHUNK_BYTES_OF_FRAMES
    let to = index.orderedUntil(from, Math.min(from + CHUNK_RECORDS, index.to), disk.bytes)
    if (to === from) throw this.#changed(from, 'its index is damaged')
    to = index.nextAfter(start + most, from, to - 1)
    this.#file ??= await this.#open(this.#path, from)
    // The rest of a line may look like a record, so the byte before the first line is checked.
    const before = this.#codec.lines && start > 0 ? 1 : 0
    const bytes = await this.#read(this.#file, start - before, index.end(to - 1), from)
    if (before === 1 && bytes[0] !== NEWLINE) throw this.#changed(from, 'its index is damaged')
    while (to > from && index.end(to - 1) - start > bytes.length - before) to--
    if (to === from) throw this.#changed(from, 'the file is too short')
    return { from, to, index, start, bytes: bytes.subarray(before) }
  }

  /**
   * The values of the records from seq `from` to seq `next` - 1, which are in `chunk`, or fewer if one of them is
   * damaged.
   */
  #values({ index, start, bytes }: FileChunk, from: number, next: number): unknown[] {
    let at = index.end(from - 1)
    const piece = bytes.subarray(at - start, index.end(next - 1) - start)
    const values = piece.at(-1) === NEWLINE ? decodeLines(this.#codec, piece, next - from) : undefined
    if (values !== undefined) return values
    const each: unknown[] = []
    for (let seq = from; seq < next; seq++) {
      const end = index.end(seq)
      const value = storedValue(this.#codec, bytes.subarray(at - start, end - start))
      if (value === DAMAGED) break
      each.push(value)
      at = end
    }
    if (each.length === 0) throw this.#changed(from, 'the record is damaged')
    return each
  }

  /** False if the whole file has been read from its beginning and its CRC-32C is wrong. */
  #checksumMatches(disk: FileDisk, { bytes, start }: FileChunk): boolean {
    if (start === 0) [this.#checked, this.#crc] = [0, 0]
    if (start !== this.#checked) return true
    this.#crc = native.crc32c(this.#crc, bytes)
    this.#checked += bytes.length
    return this.#checked !== disk.bytes || this.#crc === disk.crc
  }

  async close(): Promise<void> {
    await this.#ahead?.chunk.catch(() => {})
    this.#ahead = undefined
    await this.#closeFiles()
  }

  async #closeFiles(): Promise<void> {
    const files = [this.#file, this.#index]
    this.#file = undefined
    this.#index = undefined
    await Promise.all(files.map((file) => file?.close()))
    this.#part = NO_PART
    this.#checked = 0
    this.#crc = 0
  }

  /** Returns the index entries of seq `from`, of the seq before it and of later ones. */
  async #entries(disk: FileDisk, from: number): Promise<IndexPart> {
    const first = Math.max(from - 1, disk.first)
    if (first >= this.#part.from && from < this.#part.to) return this.#part
    const inMemory = disk.next - disk.index.length / INDEX_ENTRY_BYTES
    if (first >= inMemory) return new IndexPart(inMemory, disk.index, disk.first)
    const to = Math.min(from + INDEX_RECORDS, inMemory)
    this.#index ??= await this.#open(this.#files.index(this.#owner.fileName(disk.first)), from)
    const range = [(first - disk.first) * INDEX_ENTRY_BYTES, (to - disk.first) * INDEX_ENTRY_BYTES] as const
    const bytes = await this.#range(this.#index, ...range, from)
    this.#part = new IndexPart(first, to === inMemory ? Buffer.concat([bytes, disk.index]) : bytes, disk.first)
    return this.#part
  }

  get #path(): string {
    return this.#files.records(this.#owner.fileName(this.#first), this.#codec)
  }

  async #open(path: string, seq: number): Promise<ReadFile> {
    return ReadFile.open(path).catch((error) => this.#fail(error, path, seq))
  }

  async #range(file: ReadFile, start: number, end: number, seq: number): Promise<Buffer> {
    const bytes = await this.#read(file, start, end, seq)
    if (bytes.length < end - start) throw this.#changed(seq, 'the file is too short')
    return bytes
  }

  #read(file: ReadFile, start: number, end: number, seq: number): Promise<Buffer> {
    return readRange(file, start, end).catch((error) => this.#fail(error, file.path, seq))
  }

  #fail(error: unknown, path: string, seq: number): never {
    const problem = problemOf(error, path)
    throw problem === undefined ? error : this.#changed(seq, problem)
  }

  #changed(seq: number, reason: string): DurlogError {
    return changedFile(this.#owner.name, this.#path, seq, reason)
  }
}

const DAMAGED = Symbol('damaged')

/** The value of a stored record. */
function storedValue(codec: StreamCodec, bytes: Buffer): unknown {
  try {
    if (codec.lines && bytes.at(-1) === NEWLINE) return codec.decode(bytes)
    const data = codec.lines ? undefined : frameData(bytes)
    if (data !== undefined) return codec.decode(data)
  } catch {
    // It is no JSON.
  }
  return DAMAGED
}

export function changedFile(name: string, path: string, seq: number, reason: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_STREAM_CHANGED',
    `record ${seq} of the stream "${name}" cannot be read, because another program has changed its file: ${reason}; close the folder and restore ${path} from a copy, or read from seq ${seq + 1} on`,
    { path, lostFirst: seq },
  )
}
