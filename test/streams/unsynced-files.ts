/**
 * Simulates what a power cut leaves of the files of streams. (The core's simulated disk does this for logs, and so for
 * catalogs.)
 *
 * Each 512-byte sector that was written since the file's last sync is on the device or not. Lengths are in a journal: a
 * file may get any length between its length at the last sync and its current one. Sectors within the length that are
 * not on the device contain zeros. A truncation of a file may also be missing. Then only sectors of the block in which
 * it ends are overwritten: the truncation freed the later blocks, and new blocks take their place only together with
 * it.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const SECTOR_BYTES = 512
const BLOCK_BYTES = 4096
const FOLDERS = ['streams', 'index']

/** Returns a number from 0 to below 1. */
type Random = () => number

export class UnsyncedFiles {
  readonly #dir: string
  #synced: Map<string, Buffer>

  constructor(dir: string) {
    this.#dir = dir
    this.#synced = this.#read()
  }

  /** All files are synced. */
  sync(): void {
    this.#synced = this.#read()
  }

  /** Returns a function that makes the present content of the files that have become shorter their synced content. */
  syncOfCuts(): () => void {
    const cut = [...this.#read()].filter(([path, bytes]) => bytes.length < (this.#synced.get(path)?.length ?? 0))
    return () => {
      for (const [path, bytes] of cut) this.#synced.set(path, bytes)
    }
  }

  /** Cuts the power: leaves a possible state of each file. */
  lose(random: Random): void {
    const present = this.#read()
    for (const path of new Set([...this.#synced.keys(), ...present.keys()])) {
      const synced = this.#synced.get(path)
      const now = present.get(path)
      const isThere = synced !== undefined && now !== undefined ? true : random() < 0.5
      if (isThere)
        writeFileSync(path, now === undefined ? (synced as Buffer) : torn(synced ?? Buffer.of(), now, random))
      else rmSync(path, { force: true })
    }
    this.sync()
  }

  #read(): Map<string, Buffer> {
    const paths = FOLDERS.flatMap((folder) => readdirSync(join(this.#dir, folder)).map((name) => [folder, name]))
    return new Map(paths.map(([...names]) => join(this.#dir, ...names)).map((path) => [path, readFileSync(path)]))
  }
}

/**
 * Returns the content of a file after the power cut. `synced` is its content at the last sync, `now` its current
 * content.
 */
function torn(synced: Buffer, now: Buffer, random: Random): Buffer {
  const kept = commonLength(synced, now)
  if (kept === synced.length) return grown(synced, now, random)
  if (random() < 0.5) return grown(synced.subarray(0, kept), now, random)
  const result = Buffer.from(synced)
  const block = Buffer.alloc(kept - (kept % BLOCK_BYTES) + BLOCK_BYTES)
  now.copy(block)
  for (let at = kept; at < Math.min(block.length, synced.length); at = nextSector(at))
    if (random() < 0.5) block.copy(result, at, at, Math.min(nextSector(at), synced.length))
  return result
}

function grown(synced: Buffer, now: Buffer, random: Random): Buffer {
  const ends = [synced.length, now.length, synced.length + Math.floor(random() * (now.length - synced.length))]
  const result = Buffer.from(now.subarray(0, ends[Math.floor(random() * 3)]))
  const lost = random()
  for (let at = synced.length; at < result.length; at = nextSector(at))
    if (random() < lost) result.fill(0, at, Math.min(nextSector(at), result.length))
  return result
}

function nextSector(at: number): number {
  return at - (at % SECTOR_BYTES) + SECTOR_BYTES
}

function commonLength(a: Buffer, b: Buffer): number {
  let length = 0
  while (length < Math.min(a.length, b.length) && a[length] === b[length]) length++
  return length
}
