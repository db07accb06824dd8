/**
 * Simulates what a power cut leaves of the files of streams. The core's simulated disk does so for logs, and so for catalogs.
 *
 * Each 512-byte sector that was written since the file's last sync is on the device or not. Lengths are in a journal: a file may have
 * any length between the one at its sync and the present one. Zeros are in place of sectors that are within the length and not on the
 * device. A cut of the file may be missing too. Then only sectors of the block that it ends in are overwritten: the next blocks were
 * given back by the cut, and new ones get their place together with it.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const SECTOR_BYTES = 512
const BLOCK_BYTES = 4096
const FOLDERS = ['streams', 'index']

/** A number from 0 to below 1. */
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

  /** Returns what syncs the files that have become shorter, as they are now. */
  syncOfCuts(): () => void {
    const cut = [...this.#read()].filter(([path, bytes]) => bytes.length < (this.#synced.get(path)?.length ?? 0))
    return () => {
      for (const [path, bytes] of cut) this.#synced.set(path, bytes)
    }
  }

  /** Cuts the power. */
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

/** The file after the power cut: it was synced as `synced` and is `now`. */
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
