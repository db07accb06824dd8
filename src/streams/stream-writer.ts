/** Writes what a checkpoint adds to the file of one stream, and to its index. */
import { constants, type FileHandle, open, rename, rm } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { type AlignedMemory, PAGE_BYTES } from './aligned-memory.js'
import { codecOf, type StreamCodec } from './encoding.js'
import { EMPTY } from './entry.js'
import { copyDurably, readRange, writeAll } from './file-io.js'
import type { FolderFiles } from './folder-files.js'
import { layOutFrames } from './frame-layout.js'
import { completeLines, layOutLines, type Piece, withoutSpaces } from './line-layout.js'
import { encodeIndex, INDEX_ENTRY_BYTES, splitIndex } from './record-index.js'
import type { StreamDisk, StreamState } from './state.js'
import type { TailRecord } from './tail.js'
import type { StreamChange } from './types.js'

/** Missing outside Linux; 0 there. */
const O_DIRECT = constants.O_DIRECT ?? 0
const READ_BYTES = 1 << 20

/** Called before each step that changes the device, with its name. Trials end the process there. */
export type StepHook = (step: string) => void

export interface StreamWriterContext {
  files: FolderFiles
  memory: AlignedMemory
  onChanged: (change: StreamChange) => void
  onStep: StepHook
}

/** The bytes of a file after its last checkpoint, and the part of them that is kept. */
interface Found {
  /** The offset after each kept record. */
  ends: number[]
  /** Kept bytes: the records and spaces after them. */
  kept: Buffer
}

const NOTHING: Found = { ends: [], kept: EMPTY }

export class StreamWriter {
  /** A file was created, renamed or removed: the folders must be synced. */
  folderChanged = false
  readonly #context: StreamWriterContext
  readonly #name: string
  readonly #codec: StreamCodec
  readonly #path: string
  #disk: StreamDisk
  #file: FileHandle | undefined
  /** The same file, by O_DIRECT; null if the system refuses it. */
  #direct: FileHandle | null | undefined

  constructor(context: StreamWriterContext, { name, meta, disk }: StreamState) {
    this.#context = context
    this.#name = name
    this.#codec = codecOf(meta.encoding)
    this.#path = context.files.records(name, this.#codec)
    this.#disk = disk
  }

  /** Removes the files of the stream, and of an earlier one of the same name. */
  async remove(): Promise<void> {
    this.#context.onStep('remove')
    this.folderChanged = true
    const { files } = this.#context
    for (const lines of [true, false]) await rm(files.records(this.#name, { lines }), { force: true })
    await rm(files.index(this.#name), { force: true })
  }

  /** Adds `records` to the file after its last complete one and syncs it; returns what it holds then. */
  async append(records: readonly TailRecord[]): Promise<StreamDisk> {
    try {
      const found = await this.#openFile(records)
      return await this.#write(records, found)
    } finally {
      await this.#file?.close()
      await this.#direct?.close()
    }
  }

  async #openFile(records: readonly TailRecord[]): Promise<Found> {
    const { bytes } = this.#disk
    this.#context.onStep('open file')
    // It may exist in the folder's pages only, from a checkpoint that did not end.
    this.folderChanged ||= bytes === 0
    const create = bytes === 0 ? constants.O_CREAT : 0
    let size = -1
    try {
      this.#file = await open(this.#path, constants.O_RDWR | create, 0o600)
      size = (await this.#file.stat()).size
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    if (size < bytes) {
      await this.#beginAgain(size !== -1)
      return NOTHING
    }
    return size === bytes ? NOTHING : this.#examine(records, size)
  }

  /** The file is missing or too short. It is kept aside, and the stream continues in a new one. */
  async #beginAgain(exists: boolean): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
    const original = exists ? this.#context.files.aside(this.#name, this.#codec) : ''
    this.#context.onStep('move aside')
    this.folderChanged = true
    if (exists) await rename(this.#path, original)
    await rm(this.#context.files.index(this.#name), { force: true })
    this.#file = await open(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600)
    const { first, next } = this.#disk
    this.#context.onChanged({ stream: this.#name, original, lostFirst: first, lostLast: next - 1 })
    this.#disk = { first: next, next, bytes: 0, crc: 0, index: EMPTY }
  }

  /** Keeps the complete lines after the checkpoint that are those of the log, and cuts the rest. */
  async #examine(records: readonly TailRecord[], size: number): Promise<Found> {
    const { bytes: from } = this.#disk
    const onDevice = await this.#readDevice(from, size)
    const found = this.#codec.lines && onDevice !== undefined ? matching(records, onDevice, from) : NOTHING
    if (found.kept.length === size - from) return found
    const rest = (await readRange(this.#file as FileHandle, from, size)).subarray(found.kept.length)
    if (!this.#isOwn(rest, records.slice(found.ends.length), from + found.kept.length)) {
      const original = this.#context.files.aside(this.#name, this.#codec)
      await copyDurably(this.#path, original)
      this.folderChanged = true
      this.#context.onChanged({ stream: this.#name, original, lostFirst: -1, lostLast: -1 })
    }
    this.#context.onStep('cut')
    await (this.#file as FileHandle).truncate(from + found.kept.length)
    return found
  }

  /** Whether `rest`, at `offset`, can be what a checkpoint of `records` that did not end has left. */
  #isOwn(bytes: Buffer, records: readonly TailRecord[], offset: number): boolean {
    const rest = withoutZeros(bytes)
    if (!this.#codec.lines) {
      let at = 0
      for (const { bytes } of layOutFrames(offset, records)) {
        const part = rest.subarray(at, at + bytes.length)
        if (!isPrefix(part, bytes)) return false
        at += bytes.length
      }
      return at >= rest.length
    }
    let [count, end] = [0, 0]
    for (const { line, end: lineEnd } of completeLines(rest)) {
      if (line.length === 0 || !isPrefix(line, records[count]?.data ?? EMPTY)) return false
      if (line.length !== records[count]?.data.length) return false
      count++
      end = lineEnd
    }
    return isPrefix(withoutSpaces(rest.subarray(end)), records[count]?.data ?? EMPTY)
  }

  async #write(records: readonly TailRecord[], found: Found): Promise<StreamDisk> {
    const file = this.#file as FileHandle
    const { first, next, bytes: from, index, crc: crcBefore } = this.#disk
    const kept = found.ends.length
    const start = from + found.kept.length
    const added = records.slice(kept)
    const end = { bytes: from, crc: crcBefore }
    const parts = [index, encodeEnds(found.ends, records, 0)]
    if (kept > 0) {
      end.bytes = found.ends[kept - 1] as number
      end.crc = crc32(found.kept.subarray(0, end.bytes - from), end.crc)
    }
    let pending = found.kept.subarray(end.bytes - from)
    let count = kept
    for (const piece of this.#codec.lines ? layOutLines(start, added) : layOutFrames(start, added)) {
      this.#context.onStep('write')
      await this.#writePiece(file, piece)
      parts.push(encodeEnds(piece.ends, records, count))
      count += piece.ends.length
      // Every piece ends with a record or with the spaces before the next one.
      const last = piece.ends.at(-1)
      if (pending.length > 0) end.crc = crc32(pending, end.crc)
      pending = last === undefined ? piece.bytes : piece.bytes.subarray(last - piece.offset)
      if (last === undefined) continue
      end.crc = crc32(piece.bytes.subarray(0, last - piece.offset), end.crc)
      end.bytes = last
    }
    this.#context.onStep('sync file')
    await file.datasync()
    const rest = await this.#writeIndex(Buffer.concat(parts), next - first - index.length / INDEX_ENTRY_BYTES)
    return { first, next: next + records.length, ...end, index: rest }
  }

  async #writePiece(file: FileHandle, { offset, bytes, direct }: Piece): Promise<void> {
    if (direct && (await this.#openDirect()) !== null) {
      const aligned = this.#context.memory.take(bytes.length)
      if (aligned !== undefined) {
        bytes.copy(aligned)
        if (await this.#writeDirect(aligned, offset)) return
      }
    }
    await writeAll(file, bytes, offset)
  }

  /** False if the file system refuses O_DIRECT in the call. */
  async #writeDirect(bytes: Buffer, offset: number): Promise<boolean> {
    try {
      await writeAll(this.#direct as FileHandle, bytes, offset)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EINVAL') return false
      throw error
    }
  }

  /** Writes the full blocks of `index`, which begins with entry number `from`; returns the rest. */
  async #writeIndex(index: Buffer, from: number): Promise<Buffer> {
    const { blocks, rest } = splitIndex(index)
    if (blocks.length === 0) return rest
    this.#context.onStep('write index')
    this.folderChanged ||= from === 0
    const file = await open(this.#context.files.index(this.#name), constants.O_RDWR | constants.O_CREAT, 0o600)
    try {
      await writeAll(file, blocks, from * INDEX_ENTRY_BYTES)
      this.#context.onStep('sync index')
      await file.datasync()
    } finally {
      await file.close()
    }
    return rest
  }

  /** The bytes from `from` to `size` as the device has them; undefined if that cannot be found out. */
  async #readDevice(from: number, size: number): Promise<Buffer | undefined> {
    const file = await this.#openDirect()
    const aligned = this.#context.memory.take(READ_BYTES)
    if (file === null || aligned === undefined) return undefined
    const found = Buffer.allocUnsafe(size - from)
    for (let at = from - (from % PAGE_BYTES); at < size; at += READ_BYTES) {
      const { bytesRead } = await file.read(aligned, 0, READ_BYTES, at)
      if (at + bytesRead < Math.min(size, at + READ_BYTES)) return undefined
      const skipped = Math.max(from - at, 0)
      aligned.copy(found, at + skipped - from, skipped, Math.min(size - at, READ_BYTES))
    }
    return found
  }

  async #openDirect(): Promise<FileHandle | null> {
    if (this.#direct !== undefined) return this.#direct
    try {
      this.#direct = O_DIRECT === 0 ? null : await open(this.#path, constants.O_RDWR | O_DIRECT)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error
      this.#direct = null
    }
    return this.#direct
  }
}

/** The complete lines of `bytes`, which begin at offset `from`, that are the first of `records`, and spaces after them. */
function matching(records: readonly TailRecord[], bytes: Buffer, from: number): Found {
  const ends: number[] = []
  let end = 0
  for (const { line, end: lineEnd } of completeLines(bytes)) {
    if (records[ends.length]?.data.equals(line) !== true) break
    ends.push(from + lineEnd)
    end = lineEnd
  }
  const onlySpaces = withoutSpaces(bytes.subarray(end)).length === 0
  return { ends, kept: onlySpaces ? bytes : bytes.subarray(0, end) }
}

/** A power cut may leave zeros at the end of a file. */
function withoutZeros(bytes: Buffer): Buffer {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return bytes.subarray(0, end)
}

function isPrefix(part: Buffer, whole: Buffer): boolean {
  return part.length <= whole.length && whole.subarray(0, part.length).equals(part)
}

/** Index entries for the records from number `at` on, which end at `ends`. */
function encodeEnds(ends: readonly number[], records: readonly TailRecord[], at: number): Buffer {
  return encodeIndex(
    ends.map((end, offset) => {
      const { timeMs, position } = records[at + offset] as TailRecord
      return { end, timeMs, position }
    }),
  )
}
