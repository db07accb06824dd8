/** A cache of archived pieces on the local disk, each in a folder that is a log. Removes the least recently used pieces. */
import { mkdtempSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ofFileSystem } from '../errors.js'
import { digitsOf } from './layout.js'
import type { PieceFacts } from './piece.js'

export class PieceCache {
  readonly #dir: string
  readonly #maxBytes: number
  readonly #isTemporary: boolean

  /** Without `dir`, the pieces are in a temporary folder that `close` removes. */
  constructor(dir: string | undefined, maxBytes: number) {
    this.#dir = dir ?? mkdtempSync(join(tmpdir(), 'durlog-archive-'))
    this.#isTemporary = dir === undefined
    this.#maxBytes = maxBytes
  }

  /** Returns the folder of the piece with this checksum. Calls `load` for its bytes if the cache does not hold the piece. */
  async folderOf({ firstSeq, sha256, bytes }: PieceFacts, load: () => Promise<Buffer>): Promise<string> {
    const folder = join(this.#dir, sha256)
    const name = `${digitsOf(firstSeq)}.seg`
    try {
      const hasPiece = (): Promise<boolean> => hasLength(join(folder, name), bytes)
      if (!(await hasPiece())) {
        await rm(folder, { recursive: true, force: true })
        const body = await load()
        await this.#makeRoom(body.length)
        await mkdir(this.#dir, { recursive: true, mode: 0o700 })
        // A separate folder for each reader: another reader may add the same piece at the same time.
        const making = await mkdtemp(join(this.#dir, `${sha256}.new-`))
        try {
          // Synced before the rename, so that a power cut cannot leave an incomplete piece under the final name.
          await writeFile(join(making, name), body, { mode: 0o600, flush: true })
          await rename(making, folder)
        } catch (error) {
          await rm(making, { recursive: true, force: true })
          if (!(await hasPiece())) throw error
        }
      }
      const now = new Date()
      await utimes(folder, now, now)
      return folder
    } catch (error) {
      throw ofFileSystem(error)
    }
  }

  async close(): Promise<void> {
    if (this.#isTemporary) await rm(this.#dir, { recursive: true, force: true })
  }

  /** Removes the least recently used pieces until `bytes` more fit into the cache. */
  async #makeRoom(bytes: number): Promise<void> {
    const found: { folder: string; bytes: number; usedMs: number }[] = []
    for (const name of await readdir(this.#dir).catch(() => [])) {
      if (!/^[0-9a-f]{64}$/.test(name)) continue
      const folder = join(this.#dir, name)
      let size = 0
      for (const file of await readdir(folder)) size += (await stat(join(folder, file))).size
      found.push({ folder, bytes: size, usedMs: (await stat(folder)).mtimeMs })
    }
    found.sort((a, b) => a.usedMs - b.usedMs)
    let total = found.reduce((sum, piece) => sum + piece.bytes, bytes)
    for (const piece of found) {
      if (total <= this.#maxBytes) return
      await rm(piece.folder, { recursive: true, force: true })
      total -= piece.bytes
    }
  }
}

async function hasLength(path: string, bytes: number): Promise<boolean> {
  try {
    return (await stat(path)).size === bytes
  } catch {
    return false
  }
}
