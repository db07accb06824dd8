/** Reads pieces of a log's segments, byte for byte. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { findExtent } from '../extent.js'
import { ofFileSystem } from '../support/file-system-error.js'
import { segmentFile, segmentSeqs } from '../support/segment-name.js'
import { HEADER_BYTES, type PieceFacts } from './piece.js'
import { PieceThread } from './piece-thread.js'

export interface LocalSegment {
  firstSeq: number
  /** The first seq of the next segment; undefined for the newest segment, which may still grow. */
  endSeq: number | undefined
}

/** The facts of a piece that its bytes determine. */
type LocalFacts = Omit<PieceFacts, 'generation' | 'previous' | 'streams'>

export interface LocalPiece {
  /** The thread that holds the object's body, until the next piece is read. */
  body: PieceThread
  /** The SHA-256 of the object's body. */
  sha256: string
  facts: LocalFacts
}

/** The records of a piece that is to be read. */
export interface PieceRange {
  seq: number
  /** The piece ends before this seq. */
  endSeq: number
  /** The longest frames of the piece together, unless its first batch is longer. */
  maxBytes: number
  compresses: boolean
}

/** The segment was removed while it was read. */
export class SegmentRemoved extends Error {}

export class Segments {
  readonly #dir: string
  readonly #thread = new PieceThread()
  /** The end of the last piece, at which the next one usually begins. */
  #known = { firstSeq: -1, seq: -1, offset: 0 }

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Finds the segment that holds `seq`; undefined if it was removed. */
  async find(seq: number): Promise<LocalSegment | undefined> {
    const names = await readdir(this.#dir).catch((error) => {
      throw ofFileSystem(error)
    })
    const firsts = segmentSeqs(names)
    const at = firsts.findLastIndex((first) => first <= seq)
    return at === -1 ? undefined : { firstSeq: firsts[at] as number, endSeq: firsts[at + 1] }
  }

  /**
   * Reads a piece of a segment, and checks every frame. Undefined if there is no whole frame at `seq`. Throws
   * SegmentRemoved if the segment was removed.
   */
  async read(
    { firstSeq }: LocalSegment,
    { seq, endSeq, maxBytes, compresses }: PieceRange,
  ): Promise<LocalPiece | undefined> {
    const name = segmentFile(firstSeq)
    const path = join(this.#dir, name)
    try {
      const { firstSeq: segment, seq: knownSeq, offset } = this.#known
      const known = segment === firstSeq && knownSeq === seq ? offset : 0
      const extent = await findExtent(this.#dir, name, { offset: known, seq, endSeq, maxBytes })
      const { beginOffset, endOffset, nextSeq, records, oldestMs, newestMs } = extent
      if (endOffset === beginOffset) return undefined
      const piece = { path, begin: beginOffset, end: endOffset }
      const { sha256, pieceSha256, isCompressed } =
        compresses || extent.copy === undefined
          ? await this.#thread.read(piece, compresses)
          : this.#thread.hold(extent.copy)
      this.#known = { firstSeq, seq: nextSeq, offset: endOffset }
      const bytes = HEADER_BYTES + endOffset - beginOffset
      return {
        body: this.#thread,
        sha256,
        facts: {
          firstSeq: seq,
          lastSeq: nextSeq - 1,
          records,
          bytes,
          oldestMs,
          newestMs,
          sha256: pieceSha256,
          isCompressed,
        },
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT' || code === 'ESTALE' || code === 'ERR_DURLOG_NOT_FOUND')
        throw new SegmentRemoved(`${path} was removed`)
      // No frame begins with `seq`, or the known offset is no longer that of a frame: the log was cut.
      if (code === 'ERR_DURLOG_INVALID_ARGUMENT') return undefined
      throw ofFileSystem(error)
    }
  }

  /** Forgets the known offset. Must be called after the log was cut. */
  forget(): void {
    this.#known = { firstSeq: -1, seq: -1, offset: 0 }
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
