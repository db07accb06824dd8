/**
 * Repairs the file of a stream for a checkpoint if the file is not as the last checkpoint left it: after a crash, after
 * a failed checkpoint, or if another program has changed it.
 */
import type { Stats } from 'node:fs'
import { constants, type FileHandle, link, lstat, open, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { native } from '../../native/native.js'
import { PAGE_BYTES } from '../../support/aligned-memory.js'
import { syncFile } from '../../support/durable-files.js'
import { SAFE_FLAGS } from '../../support/new-files.js'
import { rename } from '../../support/rename.js'
import { TimeSlice } from '../../support/time-slice.js'
import { codecOf, type StreamCodec } from '../port/encoding.js'
import type { StreamChange } from '../port/types.js'
import { EMPTY } from '../state/entry.js'
import type { MemTableRecord } from '../state/mem-table.js'
import { encodeIndex } from '../state/record-index.js'
import type { FileDisk, StreamState } from '../state/state.js'
import { completeLines, HEADER_BYTES, withoutSpaces } from './file-format.js'
import { copyStart, readRange } from './file-io.js'
import type { FolderFiles } from './folder-files.js'
import { areOwnFrames, areOwnLines } from './leftover.js'

/** A file to which another program has added more bytes is not copied. */
const FOREIGN_MAX_BYTES = 1 << 26

/** Called with the name of a step before each step that changes the device. Trials end the process there. */
export type StepHook = (step: string) => void

export interface FileRepairContext {
  files: FolderFiles
  onChanged: (change: StreamChange) => void
  onStep: StepHook
}

/** The part of the bytes after the last checkpoint that is kept. */
interface Found {
  /** For each kept record, the offset of its end in the file. */
  ends: number[]
  /** The kept bytes: the records, and the spaces after them. */
  kept: Buffer
}

const NONE_LOST = { lostFirst: -1, lostLast: -1 }

const NOTHING: Found = { ends: [], kept: EMPTY }

export class FileRepair {
  readonly #context: FileRepairContext
  readonly #state: StreamState
  readonly #codec: StreamCodec
  readonly #path: string
  #disk: FileDisk
  #file: FileHandle | undefined

  /** `disk` describes the file of `state` as of the last checkpoint. */
  constructor(context: FileRepairContext, state: StreamState, disk: FileDisk) {
    this.#context = context
    this.#state = state
    this.#codec = codecOf(state.meta.encoding)
    this.#path = context.files.records(state.fileName(disk.first), this.#codec)
    this.#disk = disk
  }

  /**
   * Repairs the file and returns its new state. `records` are those that the checkpoint adds to it; the file may
   * already have the first of them.
   */
  async run(records: readonly MemTableRecord[]): Promise<FileDisk> {
    try {
      const found = await this.#openFile(records)
      const { first, next, bytes, crc, index } = this.#disk
      const { kept, ends } = found
      const added = ends.map((end, at) => {
        const { timeMs, position } = records[at] as MemTableRecord
        return { end, timeMs, position }
      })
      return {
        first,
        next: next + ends.length,
        bytes: bytes + kept.length,
        crc: native.crc32c(crc, kept),
        index: Buffer.concat([index, encodeIndex(added)]),
      }
    } finally {
      await this.#file?.close()
    }
  }

  async #openFile(records: readonly MemTableRecord[]): Promise<Found> {
    const { bytes } = this.#disk
    this.#context.onStep('open file')
    await this.#moveStrangeIndex()
    const found = await existing(this.#path)
    const size = found?.isFile() === true ? found.size : -1
    if (size < bytes || (found !== undefined && size === -1)) {
      await this.#beginAgain(found !== undefined)
      return NOTHING
    }
    if (size <= bytes) return NOTHING
    if (size - bytes > (await mostBytes(records)) + FOREIGN_MAX_BYTES) {
      await this.#replaceLong()
      return NOTHING
    }
    this.#file = await open(this.#path, constants.O_RDWR | SAFE_FLAGS)
    return this.#examine(records, size)
  }

  /** The file is missing, too short or no regular file: moves it to `changed/`. The stream continues in a new file. */
  async #beginAgain(exists: boolean): Promise<void> {
    const { first, next } = this.#disk
    const original = exists ? await this.#moveAside(this.#path) : ''
    await rm(this.#index, { force: true })
    const lost = next > first ? { lostFirst: first, lostLast: next - 1 } : NONE_LOST
    this.#context.onChanged({ stream: this.#state.name, original, ...lost })
    this.#disk = { first: next, next, bytes: 0, crc: 0, index: EMPTY }
  }

  /**
   * Another program has made the file very long, perhaps too long to be read or copied: moves it to `changed/` and
   * copies only the bytes of the last checkpoint.
   */
  async #replaceLong(): Promise<void> {
    const { name } = this.#state
    const original = await this.#context.files.aside(name, this.#codec)
    const copy = `${original}.part`
    await copyStart(this.#path, copy, this.#disk.bytes)
    this.#context.onStep('move aside')
    // With a rename, the stream would have no file if the process ended before the next step.
    await link(this.#path, original)
    await rename(copy, this.#path)
    this.#context.onChanged({ stream: name, original, ...NONE_LOST })
  }

  /** Makes room for the index. Readers report that the entries that were in it are missing. */
  async #moveStrangeIndex(): Promise<void> {
    const found = await existing(this.#index)
    if (found === undefined || found.isFile()) return
    const original = await this.#moveAside(this.#index)
    this.#context.onChanged({ stream: this.#state.name, original, ...NONE_LOST })
  }

  get #index(): string {
    return this.#context.files.index(this.#state.fileName(this.#disk.first))
  }

  async #moveAside(path: string): Promise<string> {
    const original = await this.#context.files.aside(this.#state.name, this.#codec)
    this.#context.onStep('move aside')
    await rename(path, original)
    return original
  }

  /** Keeps complete lines after the last checkpoint if they equal `records`, and cuts off all other bytes. */
  async #examine(records: readonly MemTableRecord[], size: number): Promise<Found> {
    const { bytes: from } = this.#disk
    const found = this.#codec.lines ? await matching(records, await this.#read(from, size), from) : NOTHING
    const end = from + found.kept.length
    if (end < size) await this.#keepForeign(records.slice(found.ends.length), await this.#read(end, size), end)
    if (end < size) await this.#cut(end)
    if (end === from) return NOTHING
    // They may be in the page cache alone. Other programs read them, so they are not cut off and appended again.
    this.#context.onStep('write again')
    if (await native.writeLinesAgain(dirname(this.#path), basename(this.#path), from, found.kept))
      return { ...found, kept: withFullPage(found.kept, end) }
    await this.#cut(from)
    return NOTHING
  }

  #read(from: number, to: number): Promise<Buffer> {
    return readRange(this.#file as FileHandle, from, to)
  }

  /** Copies the file if `rest`, which is in it from `from` on, is not from a checkpoint that wrote `records`. */
  async #keepForeign(records: readonly MemTableRecord[], rest: Buffer, from: number): Promise<void> {
    const areOwn = this.#codec.lines ? areOwnLines : areOwnFrames
    const waiting = records.map(({ data }) => data)
    if (areOwn(rest, from, waiting)) return
    const { name } = this.#state
    const original = await this.#context.files.aside(name, this.#codec)
    await copyStart(this.#path, original, from + rest.length)
    this.#context.onChanged({ stream: name, original, ...NONE_LOST })
  }

  async #cut(end: number): Promise<void> {
    const file = this.#file as FileHandle
    this.#context.onStep('cut')
    await file.truncate(end)
    // Without this sync a power cut could leave the old length, with new lines at the place of the cut and old bytes
    // after them.
    this.#context.onStep('sync cut')
    await syncFile(file)
  }
}

/** `bytes`, which end at the offset `end` of the file, with spaces up to the end of the page. */
function withFullPage(bytes: Buffer, end: number): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((PAGE_BYTES - (end % PAGE_BYTES)) % PAGE_BYTES, ' ')])
}

/**
 * The most bytes that checkpoints can have written for `records`: at most half of a page is spaces between lines, and
 * each checkpoint that added a record can have filled up two pages.
 */
async function mostBytes(records: readonly MemTableRecord[]): Promise<number> {
  const slice = new TimeSlice()
  let most = 2 * PAGE_BYTES
  for (const { data } of records) {
    if (slice.isOver()) await slice.nextTurn()
    most += 2 * (data.length + HEADER_BYTES + PAGE_BYTES)
  }
  return most
}

/** Describes the file or folder at `path`; undefined if there is none. A symbolic link is not followed. */
async function existing(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Finds the complete lines at the beginning of `bytes` that equal the first of `records`. `from` is the offset of
 * `bytes` in the file.
 */
async function matching(records: readonly MemTableRecord[], bytes: Buffer, from: number): Promise<Found> {
  const slice = new TimeSlice()
  const ends: number[] = []
  let end = 0
  for (const { line, end: lineEnd } of completeLines(bytes)) {
    if (slice.isOver()) await slice.nextTurn()
    if (records[ends.length]?.data.equals(line) !== true) break
    ends.push(from + lineEnd)
    end = lineEnd
  }
  const onlySpaces = withoutSpaces(bytes.subarray(end)).length === 0
  return { ends, kept: onlySpaces ? bytes : bytes.subarray(0, end) }
}
