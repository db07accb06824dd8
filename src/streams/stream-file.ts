/** Reads the records of a stream from its files and their indexes, up to a checkpoint. One file is open at a time. */
import { type FileHandle, open } from 'node:fs/promises'
import { DurlogError } from '../errors.js'
import { native } from '../native/native.js'
import { decodeLines, type StreamCodec } from './encoding.js'
import { EMPTY } from './entry.js'
import type { FolderFiles } from './folder-files.js'
import { frameData } from './frame.js'
import { INDEX_ENTRY_BYTES, type IndexEntry, indexEntry } from './record-index.js'
import type { FileDisk, StreamState } from './state.js'
import type { StreamRecord } from './types.js'

/** Records, and bytes of them, that are read at once; one longer record is read whole. */
const CHUNK_RECORDS = 1024
const CHUNK_BYTES = 1 << 18
/** Entries of the index that are read at once. */
const INDEX_RECORDS = 8192
const NEWLINE = 0x0a

/** Entries of the index, of the seqs from `from` to `to` - 1. */
interface IndexPart {
  from: number
  to: number
  bytes: Buffer
}

const NO_PART: IndexPart = { from: 0, to: 0, bytes: EMPTY }

/** Successive records of the file. */
interface Chunk {
  entries: IndexEntry[]
  /** The offset of `bytes` in the file. */
  start: number
  bytes: Buffer
}

export class StreamFile {
  readonly #files: FolderFiles
  readonly #state: StreamState
  readonly #codec: StreamCodec
  #file: FileHandle | undefined
  #index: FileHandle | undefined
  /** The entries that were read last. */
  #part = NO_PART
  /** The chunk that is being read before it is requested. */
  #ahead: { first: number; from: number; chunk: Promise<Chunk> } | undefined
  /** The first seq of the file that is open. */
  #first = 0
  /** The bytes that were read from the beginning without a gap, and their CRC-32C. */
  #checked = 0
  #crc = 0

  constructor(files: FolderFiles, state: StreamState, codec: StreamCodec) {
    this.#files = files
    this.#state = state
    this.#codec = codec
  }

  /**
   * Some records from `from` on, at least one; `from` is in the file that `disk` describes. A caller that wants `maxBytes` of them
   * will not read on.
   */
  async read<V>(disk: FileDisk, from: number, maxBytes?: number): Promise<StreamRecord<V>[]> {
    const ahead = this.#ahead
    this.#ahead = undefined
    const isNext = ahead?.first === disk.first && ahead.from === from
    if (!isNext) await ahead?.chunk.catch(() => {})
    const { entries, start, bytes } = await (isNext ? ahead.chunk : this.#chunk(disk, from, maxBytes))
    this.#check(disk, bytes, start, from)
    const next = from + entries.length
    if (maxBytes === undefined && next < disk.next) this.#readAhead(disk, next)
    const values = this.#values(entries, start, bytes, from)
    return entries.map(({ timeMs, position }, at) => ({
      seq: from + at,
      value: values[at] as V,
      timestamp: timeMs,
      position,
    }))
  }

  /** While the caller uses a chunk, the next one is read. */
  #readAhead(disk: FileDisk, from: number): void {
    const { first } = disk
    const chunk = this.#chunk(disk, from)
    // It is reported if the caller reads on.
    chunk.catch(() => {})
    this.#ahead = { first, from, chunk }
  }

  async #chunk(disk: FileDisk, from: number, maxBytes?: number): Promise<Chunk> {
    if (disk.first !== this.#first) await this.#closeFiles()
    this.#first = disk.first
    const before = from === disk.first ? undefined : from - 1
    const to = Math.min(disk.next, from + CHUNK_RECORDS)
    const entries = await this.#entries(disk, before ?? from, to, maxBytes === undefined)
    const start = before === undefined ? 0 : (entries.shift() as IndexEntry).end
    const count = entries.findIndex(({ end }) => end - start > (maxBytes ?? CHUNK_BYTES))
    const chosen = count === -1 ? entries : entries.slice(0, Math.max(count, 1))
    const end = (chosen.at(-1) as IndexEntry).end
    if (!(end > start && end <= disk.bytes)) throw this.#changed(from, 'its index is damaged')
    this.#file ??= await this.#open(this.#path, from)
    return { entries: chosen, start, bytes: await this.#range(this.#file, start, end, from) }
  }

  #values(entries: readonly IndexEntry[], start: number, bytes: Buffer, from: number): unknown[] {
    const areLines = entries.every(({ end }) => bytes[end - start - 1] === NEWLINE)
    const values = areLines ? decodeLines(this.#codec, bytes, entries.length) : undefined
    if (values !== undefined) return values
    let at = 0
    return entries.map(({ end }, offset) => {
      const value = this.#value(bytes.subarray(at, end - start), from + offset)
      at = end - start
      return value
    })
  }

  /** Checks the checksum of the file once everything has been read from its beginning. */
  #check(disk: FileDisk, bytes: Buffer, start: number, from: number): void {
    if (start === 0) [this.#checked, this.#crc] = [0, 0]
    if (start !== this.#checked) return
    this.#crc = native.crc32c(this.#crc, bytes)
    this.#checked += bytes.length
    if (this.#checked === disk.bytes && this.#crc !== disk.crc)
      throw this.#changed(
        from,
        'the checksum of the file is wrong, so this record or an earlier one is not the original',
      )
  }

  async close(): Promise<void> {
    await this.#ahead?.chunk.catch(() => {})
    this.#ahead = undefined
    await this.#closeFiles()
  }

  async #closeFiles(): Promise<void> {
    await this.#file?.close()
    await this.#index?.close()
    this.#file = undefined
    this.#index = undefined
    this.#part = NO_PART
    this.#checked = 0
    this.#crc = 0
  }

  /** The index's entries of the seqs from `from` to `to` - 1; reads later ones too if `readsOn`. */
  async #entries(disk: FileDisk, from: number, to: number, readsOn: boolean): Promise<IndexEntry[]> {
    const inMemory = disk.next - disk.index.length / INDEX_ENTRY_BYTES
    const entries: IndexEntry[] = []
    const toFile = Math.min(to, inMemory)
    if (toFile > from) {
      if (from < this.#part.from || toFile > this.#part.to)
        this.#part = await this.#indexPart(disk, from, readsOn ? Math.min(from + INDEX_RECORDS, inMemory) : toFile)
      for (let seq = from; seq < toFile; seq++) entries.push(indexEntry(this.#part.bytes, seq - this.#part.from))
    }
    for (let seq = Math.max(from, inMemory); seq < to; seq++) entries.push(indexEntry(disk.index, seq - inMemory))
    return entries
  }

  /** The entries in the index's file of the seqs from `from` to `to` - 1. */
  async #indexPart({ first }: FileDisk, from: number, to: number): Promise<IndexPart> {
    this.#index ??= await this.#open(this.#files.index(this.#state.fileName(first)), from)
    const bytes = await this.#range(
      this.#index,
      (from - first) * INDEX_ENTRY_BYTES,
      (to - first) * INDEX_ENTRY_BYTES,
      from,
    )
    return { from, to, bytes }
  }

  get #path(): string {
    return this.#files.records(this.#state.fileName(this.#first), this.#codec)
  }

  #value(bytes: Buffer, seq: number): unknown {
    try {
      if (this.#codec.lines && bytes.at(-1) === NEWLINE) return this.#codec.decode(bytes)
      const data = this.#codec.lines ? undefined : frameData(bytes)
      if (data !== undefined) return this.#codec.decode(data)
    } catch {
      // Reported below.
    }
    throw this.#changed(seq, 'the record is damaged')
  }

  async #open(path: string, seq: number): Promise<FileHandle> {
    try {
      return await open(path, 'r')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw this.#changed(seq, `${path} is missing`)
      throw error
    }
  }

  async #range(file: FileHandle, start: number, end: number, seq: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(end - start)
    for (let at = 0; at < bytes.length; ) {
      const { bytesRead } = await file.read(bytes, at, bytes.length - at, start + at)
      if (bytesRead === 0) throw this.#changed(seq, 'the file is too short')
      at += bytesRead
    }
    return bytes
  }

  #changed(seq: number, reason: string): DurlogError {
    return changedFile(this.#state.name, this.#path, seq, reason)
  }
}

export function changedFile(name: string, path: string, seq: number, reason: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_STREAM_CHANGED',
    `another program has changed the file of the stream "${name}", and record ${seq} cannot be read: ${reason}; restore ${path} from a copy while the folder is closed, or read the records after it`,
    { path, lostFirst: seq },
  )
}
