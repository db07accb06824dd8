/** Reads pieces of a log's segments: their own bytes. */
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ofFileSystem } from '../errors.js'
import { findExtent } from '../extent.js'
import { HEADER_BYTES, type PieceFacts, sha256Of } from './piece.js'

const SEGMENT_NAME = /^(\d{20})\.seg$/

export interface LocalSegment {
  firstSeq: number
  /** The first seq of the next segment; undefined for the newest, which may still grow. */
  endSeq: number | undefined
}

/** The facts that the log itself determines. */
export type LocalFacts = Omit<PieceFacts, 'generation' | 'previous' | 'streams'>

export interface LocalPiece {
  body: Buffer
  facts: LocalFacts
}

/** The segment was removed while it was read. */
export class SegmentGone extends Error {}

export class Segments {
  readonly #dir: string
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
    let file: FileHandle | undefined
    try {
      file = await open(path, 'r')
      const { firstSeq: segment, seq: knownSeq, offset } = this.#known
      const known = segment === firstSeq && knownSeq === seq ? offset : 0
      const extent = await findExtent(this.#dir, name, { offset: known, seq, endSeq, maxBytes })
      const { beginOffset, endOffset, nextSeq, records, oldestMs, newestMs } = extent
      if (endOffset === beginOffset) return undefined
      const body = Buffer.allocUnsafeSlow(HEADER_BYTES + endOffset - beginOffset)
      await readFully(file, body.subarray(0, HEADER_BYTES), 0)
      await readFully(file, body.subarray(HEADER_BYTES), beginOffset)
      // A file without its name may become another segment.
      if ((await stat(path)).ino !== (await file.stat()).ino) throw new SegmentGone(`${path} was replaced`)
      this.#known = { firstSeq, seq: nextSeq, offset: endOffset }
      const facts = { firstSeq: seq, lastSeq: nextSeq - 1, records, bytes: body.length, oldestMs, newestMs }
      return { body, facts: { ...facts, sha256: await sha256Of(body) } }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT' || code === 'ERR_DURLOG_NOT_FOUND') throw new SegmentGone(`${path} was removed`)
      throw ofFileSystem(error)
    } finally {
      await file?.close()
    }
  }

  /** Forgets offsets, because the log was cut. */
  forget(): void {
    this.#known = { firstSeq: -1, seq: -1, offset: 0 }
  }
}

async function readFully(file: FileHandle, into: Buffer, position: number): Promise<void> {
  for (let done = 0; done < into.length; ) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done)
    if (bytesRead === 0) throw new SegmentGone('a segment became shorter')
    done += bytesRead
  }
}
