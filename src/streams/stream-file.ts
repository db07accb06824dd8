/** Reads the records of a stream from its file and its index, up to a checkpoint. */
import { type FileHandle, open } from 'node:fs/promises'
import { DurlogError } from '../errors.js'
import { native } from '../native/native.js'
import type { StreamCodec } from './encoding.js'
import type { FolderFiles } from './folder-files.js'
import { frameData } from './frame.js'
import { INDEX_ENTRY_BYTES, type IndexEntry, indexEntry } from './record-index.js'
import type { StreamDisk } from './state.js'
import type { StreamRecord } from './types.js'

/** Records, and bytes of them, that are read at once; one longer record is read whole. */
const CHUNK_RECORDS = 1024
const CHUNK_BYTES = 1 << 18

export class StreamFile {
  readonly #name: string
  readonly #codec: StreamCodec
  readonly #path: string
  readonly #indexPath: string
  #file: FileHandle | undefined
  #index: FileHandle | undefined
  /** The first seq of the files that are open. */
  #first = 0
  /** The bytes that were read from the beginning without a gap, and their CRC-32C. */
  #checked = 0
  #crc = 0

  constructor(files: FolderFiles, name: string, codec: StreamCodec) {
    this.#name = name
    this.#codec = codec
    this.#path = files.records(name, codec)
    this.#indexPath = files.index(name)
  }

  /** Some records from `from` on, at least one; `from` is in the file as of `disk`. */
  async read<V>(disk: StreamDisk, from: number): Promise<StreamRecord<V>[]> {
    if (disk.first !== this.#first) await this.close()
    this.#first = disk.first
    const before = from === disk.first ? undefined : from - 1
    const entries = await this.#entries(disk, before ?? from, Math.min(disk.next, from + CHUNK_RECORDS))
    const start = before === undefined ? 0 : (entries.shift() as IndexEntry).end
    let count = entries.findIndex(({ end }) => end - start > CHUNK_BYTES)
    if (count === -1) count = entries.length
    const chosen = entries.slice(0, Math.max(count, 1))
    const end = (chosen.at(-1) as IndexEntry).end
    if (!(end > start && end <= disk.bytes)) throw this.#changed(from, 'its index is damaged')
    this.#file ??= await this.#open(this.#path, from)
    const bytes = await this.#range(this.#file, start, end, from)
    this.#check(disk, bytes, start, from)
    const records: StreamRecord<V>[] = []
    let at = 0
    for (const [offset, { end: recordEnd, timeMs, position }] of chosen.entries()) {
      const seq = from + offset
      const value = this.#value(bytes.subarray(at, recordEnd - start), seq) as V
      records.push({ seq, value, timestamp: timeMs, position })
      at = recordEnd - start
    }
    return records
  }

  /** Checks the checksum of the file once everything has been read from its beginning. */
  #check(disk: StreamDisk, bytes: Buffer, start: number, from: number): void {
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
    await this.#file?.close()
    await this.#index?.close()
    this.#file = undefined
    this.#index = undefined
  }

  /** The index's entries of the seqs from `from` to `to` - 1. */
  async #entries(disk: StreamDisk, from: number, to: number): Promise<IndexEntry[]> {
    const inMemory = disk.next - disk.index.length / INDEX_ENTRY_BYTES
    const entries: IndexEntry[] = []
    const fromFile = Math.min(to, inMemory) - from
    if (fromFile > 0) {
      this.#index ??= await this.#open(this.#indexPath, from)
      const start = (from - disk.first) * INDEX_ENTRY_BYTES
      const bytes = await this.#range(this.#index, start, start + fromFile * INDEX_ENTRY_BYTES, from)
      for (let at = 0; at < fromFile; at++) entries.push(indexEntry(bytes, at))
    }
    for (let seq = Math.max(from, inMemory); seq < to; seq++) entries.push(indexEntry(disk.index, seq - inMemory))
    return entries
  }

  #value(bytes: Buffer, seq: number): unknown {
    try {
      if (this.#codec.lines && bytes.at(-1) === 0x0a) return this.#codec.decode(bytes)
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
    return changedFile(this.#name, this.#path, seq, reason)
  }
}

export function changedFile(name: string, path: string, seq: number, reason: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_STREAM_CHANGED',
    `another program has changed the file of the stream "${name}", and record ${seq} cannot be read: ${reason}; restore ${path} from a copy while the folder is closed, or read the records after it`,
    { path, lostFirst: seq },
  )
}
