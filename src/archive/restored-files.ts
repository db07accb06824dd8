/**
 * The segment files of a log that is being restored. Consecutive pieces with the same header are joined into one file,
 * as long as they fit in it: the file of a copy may begin in the middle of a segment, and the copy may then have filled
 * it as far as the header allows.
 */
import { constants, readdirSync } from 'node:fs'
import { type FileHandle, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findExtent } from '../extent.js'
import { PAGE_BYTES } from '../support/aligned-memory.js'
import { syncFile, syncFolder } from '../support/durable-files.js'
import { takeOwner } from '../support/new-files.js'
import { rename } from '../support/rename.js'
import { segmentFile, segmentSeqs } from '../support/segment-name.js'
import { eraseSlot, HEADER_BYTES, segmentBytesIn } from './piece.js'

/** The name of a segment before its header is written. */
const MAKING = 'segment.new'
/** 0 on systems without O_DIRECT. */
const O_DIRECT = constants.O_DIRECT ?? 0

export class RestoredFiles {
  readonly #dir: string
  /** The seq of the next record to restore. */
  next: number
  /**
   * Whether the last piece in the last file may not have been checked: an earlier run may have been killed directly
   * after it had written the piece.
   */
  isUnchecked = false
  #isRewound = false
  /** The sync of the previous file. */
  #syncing: Promise<void> = Promise.resolve()
  #file: FileHandle | undefined
  /** The same file, opened with O_DIRECT; undefined if the system refuses that. */
  #direct: FileHandle | undefined
  #firstSeq = -1
  #header: Buffer = Buffer.alloc(0)
  #end = 0
  /** The offset in the file at which the current piece begins; 0 if the piece began the file. */
  #pieceAt = 0

  private constructor(dir: string, firstSeq: number) {
    this.#dir = dir
    this.next = firstSeq
  }

  /**
   * Opens a folder that may hold files of an earlier restore. Keeps their bytes up to the first frame that is not
   * whole. Only the last two files may have such a frame.
   */
  static async open(dir: string, firstSeq: number): Promise<RestoredFiles> {
    const files = new RestoredFiles(dir, firstSeq)
    await rm(join(dir, MAKING), { force: true })
    for (const [index, first] of segmentSeqs(readdirSync(dir)).slice(-2).entries()) {
      if (index === 0 || files.next === first) await files.#continue(first)
      else await rm(files.#pathOf(first))
    }
    files.isUnchecked = files.#file !== undefined
    return files
  }

  #pathOf(firstSeq: number): string {
    return join(this.#dir, segmentFile(firstSeq))
  }

  async #continue(firstSeq: number): Promise<void> {
    await this.#finishFile()
    this.next = firstSeq
    const query = { offset: 0, seq: firstSeq, endSeq: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER }
    // A file without a whole header holds no records.
    const extent = await findExtent(this.#dir, segmentFile(firstSeq), query).catch(() => undefined)
    const path = this.#pathOf(firstSeq)
    if (extent === undefined || extent.nextSeq === firstSeq) return await rm(path)
    await this.#open(path)
    this.#header = Buffer.alloc(HEADER_BYTES)
    await (this.#file as FileHandle).read(this.#header, 0, HEADER_BYTES, 0)
    eraseSlot(this.#header)
    await (this.#file as FileHandle).truncate(extent.endOffset)
    this.#end = this.#pieceAt = extent.endOffset
    this.#firstSeq = firstSeq
    this.next = extent.nextSeq
  }

  /**
   * Returns to the frame of `seq`, or to the beginning of the last file: the next piece is written over the last one.
   * Does not make the file shorter, because a reader of a replica may have mapped it into memory.
   */
  async rewind(seq: number): Promise<void> {
    this.next = Math.max(seq, this.#firstSeq)
    this.#end = await this.#offsetOf(this.next)
    this.isUnchecked = false
    this.#isRewound = true
  }

  /** Begins a piece whose first frame is the frame of `next`, and of which up to `bytes` bytes are written. */
  async begin(header: Buffer, bytes: number): Promise<void> {
    this.#pieceAt = this.#end
    const fits = this.#end + bytes <= segmentBytesIn(header)
    if (this.#file !== undefined && fits && this.#header.equals(header)) return
    await this.#cutRewound()
    await this.#finishFile()
    const path = this.#pathOf(this.next)
    // A reader of a replica would take a segment without a whole header for damage.
    await writeFile(join(this.#dir, MAKING), header, { mode: 0o600 })
    takeOwner(join(this.#dir, MAKING))
    await rename(join(this.#dir, MAKING), path)
    await this.#open(path)
    this.#firstSeq = this.next
    this.#header = Buffer.from(header)
    this.#pieceAt = 0
    this.#end = header.length
  }

  /**
   * Whole pages are written directly to the device if `bytes` is page-aligned: a copy in the page cache takes more
   * processor time than all requests.
   */
  async write(bytes: Buffer): Promise<void> {
    const direct = this.#end % PAGE_BYTES === 0 ? bytes.length - (bytes.length % PAGE_BYTES) : 0
    let done = 0
    while (done < bytes.length) {
      const file = done < direct ? this.#direct : undefined
      const end = file === undefined ? bytes.length : direct
      try {
        const { bytesWritten } = await (file ?? (this.#file as FileHandle)).write(bytes, done, end - done, this.#end)
        done += bytesWritten
        this.#end += bytesWritten
      } catch (error) {
        // The memory is not aligned, or the file system does not support it. A part of a page cannot be continued.
        if (file === undefined || (error as NodeJS.ErrnoException).code !== 'EINVAL') throw error
        await this.#closeDirect()
      }
    }
  }

  /**
   * Ends the piece; the next one begins with seq `next`. If the piece `isLonger`, removes its records from `next` on.
   */
  async end(next: number, isLonger: boolean): Promise<void> {
    this.next = next
    if (isLonger) {
      this.#end = await this.#offsetOf(next)
      await (this.#file as FileHandle).truncate(this.#end)
    }
    await this.#cutRewound()
    this.#pieceAt = this.#end
  }

  /** Removes what is left of the piece that was in the place of the one that is written. */
  async #cutRewound(): Promise<void> {
    if (this.#isRewound) await this.#file?.truncate(this.#end)
    this.#isRewound = false
  }

  /** The offset of the frame of `seq` in the last file. */
  async #offsetOf(seq: number): Promise<number> {
    const query = { offset: 0, seq, endSeq: seq + 1, maxBytes: 0 }
    return (await findExtent(this.#dir, segmentFile(this.#firstSeq), query)).beginOffset
  }

  /** Removes the bytes of a piece that did not end. */
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
    await this.#closeDirect()
    await file.close()
    await rm(this.#pathOf(this.#firstSeq))
    this.#end = 0
  }

  /** Brings every file to the device. */
  async sync(): Promise<void> {
    await this.#syncing
    if (this.#file !== undefined) await syncFile(this.#file)
    await syncFolder(this.#dir)
  }

  async close(): Promise<void> {
    await this.#closeDirect()
    await this.#file?.close()
    this.#file = undefined
    await this.#syncing.catch(() => {})
  }

  async #open(path: string): Promise<void> {
    this.#file = await open(path, 'r+')
    if (O_DIRECT !== 0) this.#direct = await open(path, constants.O_RDWR | O_DIRECT).catch(() => undefined)
  }

  async #closeDirect(): Promise<void> {
    const direct = this.#direct
    this.#direct = undefined
    await direct?.close()
  }

  /** Begins to sync the file, which then runs while the next file is written. Awaits the sync of the previous file. */
  async #finishFile(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await this.#closeDirect()
    await this.#syncing
    if (file === undefined) return
    this.#syncing = syncFile(file).finally(() => file.close())
    // Awaited later: a rejection before that must not count as unhandled.
    this.#syncing.catch(() => {})
  }
}
