/** Reads growing JSON Lines files like another program, and throws if it sees an incomplete line. */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { hasWholeLines, NO_WHOLE_LINES } from '../fixtures/file-system.js'

/** Between two looks at all files. A look takes most of a millisecond, and the writers need the processor too. */
const PAUSE_MS = 5

interface Seen {
  /** The end of the last complete line. */
  lines: number
  /** The end of the bytes that have been read. */
  end: number
}

export class LineWatch {
  /** The number of reads of files, and of lines that were checked. */
  looks = 0
  lines = 0
  readonly #folder: string
  /** Keyed by inode and time of birth, because inodes are reused. */
  readonly #seen = new Map<string, Seen>()

  constructor(folder: string) {
    this.#folder = folder
    if (!hasWholeLines) process.stdout.write(NO_WHOLE_LINES)
  }

  /**
   * Throws if a file has an incomplete or invalid line, or is shorter than it was. Does nothing on a file system on
   * which that may be.
   */
  look(): void {
    if (!hasWholeLines) return
    let names: string[]
    try {
      names = readdirSync(this.#folder).filter((name) => name.endsWith('.jsonl'))
    } catch {
      return
    }
    for (const name of names) this.#lookAt(join(this.#folder, name))
  }

  /** Looks until `until` returns true. */
  async lookUntil(until: () => boolean): Promise<void> {
    while (!until()) {
      this.look()
      await pause(PAUSE_MS)
    }
  }

  #lookAt(path: string): void {
    let file: number
    try {
      file = openSync(path, 'r')
    } catch {
      return
    }
    try {
      const { ino, birthtimeNs, size } = fstatSync(file, { bigint: true })
      const id = `${ino} ${birthtimeNs}`
      const seen = this.#seen.get(id) ?? { lines: 0, end: 0 }
      const bytes = readFrom(file, seen.lines)
      const end = seen.lines + bytes.length
      const least = Math.min(end, Number(size))
      if (least < seen.end) throw new Error(`${path} had ${seen.end} bytes, and now has ${least}`)
      const complete = bytes.lastIndexOf(0x0a) + 1
      for (const line of bytes.toString('utf8', 0, complete).split('\n').slice(0, -1)) {
        JSON.parse(line)
        this.lines++
      }
      const rest = bytes.toString('utf8', complete)
      if (rest.trim() !== '') throw new Error(`${path} ends with an incomplete line: ${rest.trim().slice(0, 60)}`)
      this.looks++
      this.#seen.set(id, { lines: seen.lines + complete, end })
    } finally {
      closeSync(file)
    }
  }
}

function readFrom(file: number, offset: number): Buffer {
  const parts: Buffer[] = []
  for (let at = offset; ; ) {
    const part = Buffer.allocUnsafe(65_536)
    const count = readSync(file, part, 0, part.length, at)
    if (count === 0) return Buffer.concat(parts)
    parts.push(part.subarray(0, count))
    at += count
  }
}
