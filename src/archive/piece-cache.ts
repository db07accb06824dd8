/**
 * A cache of archived pieces on the local disk, each in a folder that is a log. Removes the least recently used pieces.
 */
import { mkdtempSync } from 'node:fs'
import { mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ofFileSystem } from '../support/file-system-error.js'
import { makeFolder, takeOwner } from '../support/new-files.js'
import { segmentFile } from '../support/segment-name.js'
import type { PieceFacts } from './piece.js'

/** The name of a piece that a reader is adding begins with this. */
const MAKING = /^[0-9a-f]{64}\.new-/
/** After this time without a change, the reader that was adding a piece counts as killed. */
const ABANDONED_MS = 3_600_000

export class PieceCache {
  readonly #dir: string
  readonly #maxBytes: number
  readonly #isTemporary: boolean
  #cleaned: Promise<void> | undefined

  /** Without `dir`, the pieces are in a temporary folder that `close` removes. */
  constructor(dir: string | undefined, maxBytes: number) {
    this.#dir = dir ?? mkdtempSync(join(tmpdir(), 'durlog-archive-'))
    this.#isTemporary = dir === undefined
    this.#maxBytes = maxBytes
  }

  /**
   * Returns the folder of the piece with this checksum. Calls `load` for its bytes if the cache does not hold the
   * piece. Another reader may remove the piece at any time.
   */
  async folderOf(piece: PieceFacts, load: () => Promise<Buffer>): Promise<string> {
    const folder = this.#folderOf(piece)
    this.#cleaned ??= this.#removeAbandoned()
    let body: Buffer | undefined
    try {
      await this.#cleaned
      do {
        if (!(await this.has(piece))) {
          body ??= await load()
          await this.#add(piece, body)
        }
      } while (!(await markUsed(folder)))
      return folder
    } catch (error) {
      throw ofFileSystem(error, folder)
    }
  }

  has(piece: PieceFacts): Promise<boolean> {
    return hasLength(join(this.#folderOf(piece), segmentFile(piece.firstSeq)), piece.bytes)
  }

  #folderOf({ sha256 }: PieceFacts): string {
    return join(this.#dir, sha256)
  }

  async #add(piece: PieceFacts, body: Buffer): Promise<void> {
    if (await this.has(piece)) return
    await rm(this.#folderOf(piece), { recursive: true, force: true })
    await this.#makeRoom(body.length)
    await makeFolder(this.#dir)
    // A separate folder for each reader: another reader may add the same piece at the same time.
    const making = await mkdtemp(`${this.#folderOf(piece)}.new-`)
    try {
      // Synced before the rename, so that a power cut cannot leave an incomplete piece under the final name.
      takeOwner(making)
      const file = join(making, segmentFile(piece.firstSeq))
      await writeFile(file, body, { mode: 0o600, flush: true })
      takeOwner(file)
      await rename(making, this.#folderOf(piece))
    } catch (error) {
      await rm(making, { recursive: true, force: true })
      // Another reader has added it, and may have removed it again, or has taken this reader for killed, because it was
      // stopped for a long time. In both cases the caller adds the piece once more if necessary.
      if (!isExisting(error) && !isMissing(error) && !(await this.has(piece))) throw error
    }
  }

  async close(): Promise<void> {
    if (this.#isTemporary) await rm(this.#dir, { recursive: true, force: true })
  }

  /** Removes the folders of readers that were killed while they added a piece. */
  async #removeAbandoned(): Promise<void> {
    const abandonedMs = Date.now() - ABANDONED_MS
    for (const name of await readdir(this.#dir).catch(() => [])) {
      if (!MAKING.test(name)) continue
      const folder = join(this.#dir, name)
      const facts = await sizeOf(folder)
      if (facts !== undefined && facts.changedMs < abandonedMs) await rm(folder, { recursive: true, force: true })
    }
  }

  /** Removes the least recently used pieces until `bytes` more fit into the cache. */
  async #makeRoom(bytes: number): Promise<void> {
    const found: { folder: string; bytes: number; usedMs: number }[] = []
    for (const name of await readdir(this.#dir).catch(() => [])) {
      if (!/^[0-9a-f]{64}$/.test(name)) continue
      const folder = join(this.#dir, name)
      const facts = await sizeOf(folder)
      if (facts !== undefined) found.push({ folder, ...facts })
    }
    found.sort((a, b) => a.usedMs - b.usedMs)
    let total = found.reduce((sum, piece) => sum + piece.bytes, bytes)
    for (const piece of found) {
      if (total <= this.#maxBytes) return
      try {
        await rm(piece.folder, { recursive: true, force: true })
        total -= piece.bytes
      } catch (error) {
        // Windows removes no folder that another reader has open: that piece stays.
        if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
      }
    }
  }
}

/**
 * The size of a piece, the times of its last use and of its last change; undefined if another reader has removed it.
 */
async function sizeOf(folder: string): Promise<{ bytes: number; usedMs: number; changedMs: number } | undefined> {
  try {
    const { mtimeMs: usedMs } = await stat(folder)
    let bytes = 0
    let changedMs = usedMs
    for (const file of await readdir(folder)) {
      const { size, mtimeMs } = await stat(join(folder, file))
      bytes += size
      changedMs = Math.max(changedMs, mtimeMs)
    }
    return { bytes, usedMs, changedMs }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Notes that the piece is used now. Returns false if another reader has removed it. */
async function markUsed(folder: string): Promise<boolean> {
  const now = new Date()
  try {
    await utimes(folder, now, now)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function isExisting(error: unknown): boolean {
  return ['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')
}

async function hasLength(path: string, bytes: number): Promise<boolean> {
  try {
    return (await stat(path)).size === bytes
  } catch {
    return false
  }
}
