/** Reads pieces of a log's segments: their own bytes. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ofFileSystem } from '../errors.js'
import { findExtent } from '../extent.js'
import { HEADER_BYTES, type PieceFacts } from './piece.js'
import { PieceThread } from './piece-thread.js'

const SEGMENT_NAME = /^(\d{20})\.seg$/

export interface LocalSegment {
  firstSeq: number
  /** The first seq of the next segment; undefined for the newest, which may still grow. */
  endSeq: number | undefined
}

/** The facts that the log itself determines. */
export type LocalFacts = Omit<PieceFacts, 'generation' | 'previous' | 'streams'>

export interface LocalPiece {
  /** Holds the piece until the next one is read. */
  body: PieceThread
  facts: LocalFacts
}

/** The segment was removed while it was read. */
export class SegmentGone extends Error {}

export class Segments {
  readonly #dir: string
  readonly #thread = new PieceThread()
  /** The end of the newest piece: the next one usually begins there. */
  #known = { firstSeq: -1, seq: -1, offset: 0 }

  constructor(dir: string) {
    this.#dir = dir
  }

  /** The segment that holds `seq`; undefined if it was removed. */
  async find(seq: number): Promise<LocalSegment | undefined> {
    const names = await readdir(this.#dir).catch((error) => {
      throw ofFileSystem(error)
    })
    const firsts = names.flatMap((name) => SEGMENT_NAME.exec(name)?.[1] ?? []).map(Number)
    firsts.sort((a, b) => a - b)
    const at = firsts.findLastIndex((first) => first <= seq)
    return at === -1 ? undefined : { firstSeq: firsts[at] as number, endSeq: firsts[at + 1] }
  }

  /**
   * The piece of `segment` from `seq` to below `endSeq`, at most `maxBytes` of frames unless one batch is longer. Every frame
   * is checked. Undefined if no whole frame follows. Throws SegmentGone.
   */
  async read(
    { firstSeq }: LocalSegment,
    { seq, endSeq, maxBytes }: { seq: number; endSeq: number; maxBytes: number },
  ): Promise<LocalPiece | undefined> {
    const name = `${String(firstSeq).padStart(20, '0')}.seg`
    const path = join(this.#dir, name)
    try {
      const { firstSeq: segment, seq: knownSeq, offset } = this.#known
      const known = segment === firstSeq && knownSeq === seq ? offset : 0
      const extent = await findExtent(this.#dir, name, { offset: known, seq, endSeq, maxBytes })
      const { beginOffset, endOffset, nextSeq, records, oldestMs, newestMs } = extent
      if (endOffset === beginOffset) return undefined
      const sha256 = await this.#thread.read({ path, begin: beginOffset, end: endOffset })
      this.#known = { firstSeq, seq: nextSeq, offset: endOffset }
      const bytes = HEADER_BYTES + endOffset - beginOffset
      return {
        body: this.#thread,
        facts: { firstSeq: seq, lastSeq: nextSeq - 1, records, bytes, oldestMs, newestMs, sha256 },
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT' || code === 'ESTALE' || code === 'ERR_DURLOG_NOT_FOUND')
        throw new SegmentGone(`${path} was removed`)
      throw ofFileSystem(error)
    }
  }

  /** Forgets offsets, because the log was cut. */
  forget(): void {
    this.#known = { firstSeq: -1, seq: -1, offset: 0 }
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
