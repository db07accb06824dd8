/**
 * Reads the records of a stream from its files, up to the last checkpoint. The core finds and checks them; their values
 * are made here.
 */
import { DurlogError } from '../../errors.js'
import { native } from '../../native/native.js'
import type { NativeStreamFiles } from '../../native/stream-files.js'
import { memoryGuard } from '../../support/record-memory.js'
import { codecOf, decodeLines, ENCODING_NUMBERS, type StreamCodec } from '../port/encoding.js'
import type { StreamRecord } from '../port/types.js'
import { EMPTY } from '../state/entry.js'
import { IndexPart } from '../state/record-index.js'
import type { FileDisk, StreamState } from '../state/state.js'
import { HEADER_BYTES } from './file-format.js'
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
const NEWLINE = 0x0a

/** The records from seq `from` to seq `to` - 1. */
interface FileChunk {
  from: number
  to: number
  index: IndexPart
  /** The offset of `bytes` in the file. */
  start: number
  bytes: Buffer
}

const NO_CHUNK: FileChunk = { from: 0, to: 0, index: new IndexPart(0, new Uint8Array(0), 0), start: 0, bytes: EMPTY }

/** The parts of a folder that reading its files needs. */
export interface StreamFolder {
  files: FolderFiles
  storage: Pick<NativeStreamFiles, 'readBody' | 'readStored'>
}

export class StreamFile {
  readonly #folder: StreamFolder
  readonly #owner: Pick<StreamState, 'name' | 'fileName'>
  readonly #codec: StreamCodec
  /** The chunk from which `read` returns records. */
  #chunk = NO_CHUNK
  /** The next chunk, which is being read ahead. */
  #ahead: { first: number; from: number; chunk: Promise<FileChunk> } | undefined
  /** The first seq of the file that was read last, which identifies it. */
  #first = 0
  /** The number of bytes that were read from the beginning of the file without a gap, and their CRC-32C. */
  #checked = 0
  #crc = 0

  constructor(folder: StreamFolder, owner: Pick<StreamState, 'name' | 'fileName'>, codec: StreamCodec) {
    this.#folder = folder
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
    const { first, next, bytes } = disk
    if (first !== this.#first) this.#checked = 0
    this.#first = first
    const to = Math.min(from + CHUNK_RECORDS, next)
    const expected = 2 * (to - from) * (bytes / (next - first))
    let room = Math.ceil(Math.min(expected, this.#codec.lines ? CHUNK_BYTES_OF_LINES : CHUNK_BYTES_OF_FRAMES))
    for (;;) {
      const into = Buffer.allocUnsafeSlow(room)
      if (!this.#codec.lines) (await memoryGuard())(into.buffer)
      const fileName = this.#owner.fileName(first)
      const encoding = ENCODING_NUMBERS[this.#codec.name]
      const read = await this.#folder.storage.readStored(fileName, encoding, disk, from, to, into)
      if (read.problem !== '') throw this.#changed(from, read.problem)
      room = read.needed
      if (read.entries === undefined) continue
      const index = new IndexPart(Math.max(from - 1, first), read.entries, first)
      return { from, to: read.next, index, start: index.end(from - 1), bytes: into.subarray(0, read.size) }
    }
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

  /** Waits for the read in progress. */
  async close(): Promise<void> {
    await this.#ahead?.chunk.catch(() => {})
    this.#ahead = undefined
  }

  get #path(): string {
    return this.#folder.files.records(this.#owner.fileName(this.#first), this.#codec)
  }

  #changed(seq: number, reason: string): DurlogError {
    return changedFile(this.#owner.name, this.#path, seq, reason)
  }
}

const DAMAGED = Symbol('damaged')

/** The value of a stored record, whose newline or checksum the core has checked. */
function storedValue(codec: StreamCodec, bytes: Buffer): unknown {
  try {
    return codec.decode(codec.lines ? bytes : bytes.subarray(HEADER_BYTES))
  } catch {
    // It is no JSON.
    return DAMAGED
  }
}

export function changedFile(name: string, path: string, seq: number, reason: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_STREAM_CHANGED',
    `record ${seq} of the stream "${name}" cannot be read, because another program has changed its file: ${reason}; close the folder and restore ${path} from a copy, or read from seq ${seq + 1} on`,
    { path, lostFirst: seq },
  )
}
