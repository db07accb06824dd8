/** Archived pieces on the local disk, each in a folder that is a log. The least recently used ones are removed. */
import { mkdtempSync } from 'node:fs'
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ofFileSystem } from '../errors.js'
import { digitsOf } from './layout.js'

export class PieceCache {
  readonly #dir: string
  readonly #maxBytes: number
  readonly #isTemporary: boolean

  /** Without `dir` the pieces are in a temporary folder, which `close` removes. */
  constructor(dir: string | undefined, maxBytes: number) {
    this.#dir = dir ?? mkdtempSync(join(tmpdir(), 'durlog-archive-'))
    this.#isTemporary = dir === undefined
    this.#maxBytes = maxBytes
  }

  /** The folder of the piece with this checksum; `load` provides its bytes if it is not there. */
  async folderOf(firstSeq: number, sha256: string, load: () => Promise<Buffer>): Promise<string> {
    const folder = join(this.#dir, sha256)
    const name = `${digitsOf(firstSeq)}.seg`
    try {
      if ((await stat(join(folder, name)).catch(() => undefined)) === undefined) {
        const body = await load()
        await this.#makeRoom(body.length)
        const making = join(this.#dir, `${sha256}.${process.pid}.new`)
        await mkdir(making, { recursive: true, mode: 0o700 })
        await writeFile(join(making, name), body, { mode: 0o600 })
        await rename(making, folder).catch(async (error) => {
          // Another process has made it.
          await rm(making, { recursive: true, force: true })
          if ((await stat(join(folder, name)).catch(() => undefined)) === undefined) throw error
        })
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

  /** Removes the pieces that were not used for the longest time, until `bytes` more fit. */
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
