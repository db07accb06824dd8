/** The segment files of a log that is being restored. Pieces with the same header become one file again. */
import { readdirSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { findExtent } from '../extent.js'
import { syncFolder } from '../ship/restore-folder.js'
import { digitsOf } from './layout.js'
import { HEADER_BYTES } from './piece.js'

const SEGMENT_NAME = /^(\d{20})\.seg$/

export class RestoredFiles {
  readonly #dir: string
  /** The seq of the next record. */
  next: number
  /** Of the file before the one that is being written. */
  #syncing: Promise<void> = Promise.resolve()
  #file: FileHandle | undefined
  #firstSeq = -1
  #header: Buffer = Buffer.alloc(0)
  #end = 0
  /** Where the piece begins that is being written; a new file if it is 0. */
  #pieceAt = 0

  private constructor(dir: string, firstSeq: number) {
    this.#dir = dir
    this.next = firstSeq
  }

  /**
   * Continues in a folder that may hold files of an earlier restore; they count up to the first frame that is not whole. Only the
   * last two may have such a frame.
   */
  static async open(dir: string, firstSeq: number): Promise<RestoredFiles> {
    const files = new RestoredFiles(dir, firstSeq)
    const firsts = readdirSync(dir).flatMap((name) => SEGMENT_NAME.exec(name)?.[1] ?? [])
    firsts.sort()
    for (const [index, first] of firsts.slice(-2).map(Number).entries()) {
      if (index === 0 || files.next === first) await files.#continue(first)
      else await rm(files.#pathOf(first))
    }
    return files
  }

  #pathOf(firstSeq: number): string {
    return join(this.#dir, `${digitsOf(firstSeq)}.seg`)
  }

  async #continue(firstSeq: number): Promise<void> {
    await this.#finishFile()
    this.next = firstSeq
    const name = `${digitsOf(firstSeq)}.seg`
    const query = { offset: 0, seq: firstSeq, endSeq: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER }
    // A file without a whole header holds nothing yet.
    const extent = await findExtent(this.#dir, name, query).catch(() => undefined)
    const path = this.#pathOf(firstSeq)
    if (extent === undefined || extent.nextSeq === firstSeq) return await rm(path)
    this.#file = await open(path, 'r+')
    this.#header = Buffer.alloc(HEADER_BYTES)
    await this.#file.read(this.#header, 0, HEADER_BYTES, 0)
    await this.#file.truncate(extent.endOffset)
    this.#end = extent.endOffset
    this.#firstSeq = firstSeq
    this.next = extent.nextSeq
  }

  /** Begins a piece whose first frame is that of `next`. */
  async begin(header: Buffer): Promise<void> {
    this.#pieceAt = this.#end
    if (this.#file !== undefined && this.#header.equals(header)) return
    await this.#finishFile()
    this.#file = await open(this.#pathOf(this.next), 'w', 0o600)
    this.#firstSeq = this.next
    this.#header = Buffer.from(header)
    this.#pieceAt = 0
    this.#end = 0
    await this.write(header)
  }

  async write(bytes: Buffer): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await (this.#file as FileHandle).write(bytes, done, bytes.length - done, this.#end)
      done += bytesWritten
      this.#end += bytesWritten
    }
  }

  /** The piece is complete; the next one begins with `next`. Records from there on are removed. */
  async end(next: number, isLonger: boolean): Promise<void> {
    this.next = next
    this.#pieceAt = this.#end
    if (!isLonger) return
    const name = `${digitsOf(this.#firstSeq)}.seg`
    const query = { offset: 0, seq: next, endSeq: next + 1, maxBytes: 0 }
    const { beginOffset } = await findExtent(this.#dir, name, query)
    await (this.#file as FileHandle).truncate(beginOffset)
    this.#end = this.#pieceAt = beginOffset
  }

  /** Removes what was written of a piece that did not end. */
  async undo(): Promise<void> {
    const file = this.#file
    if (file === undefined || this.#end === this.#pieceAt) return
    if (this.#pieceAt > 0) {
      await file.truncate(this.#pieceAt)
      this.#end = this.#pieceAt
      return
    }
    this.#file = undefined
    this.#header = Buffer.alloc(0)
    await file.close()
    await rm(this.#pathOf(this.#firstSeq))
    this.#end = 0
  }

  /** Brings every file to the device. */
  async sync(): Promise<void> {
    await this.#syncing
    await this.#file?.sync()
    syncFolder(this.#dir)
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
    await this.#syncing.catch(() => {})
  }

  /** Syncs the file while the next one is written. */
  async #finishFile(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await this.#syncing
    if (file === undefined) return
    this.#syncing = file.sync().finally(() => file.close())
    // It is awaited later; a failure before that is not unhandled.
    this.#syncing.catch(() => {})
  }
}
