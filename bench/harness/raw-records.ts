/** Reads a log's records with only a pread from a known offset: the baseline of `get`. */
import { closeSync, openSync, read, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'

// These constants are defined in docs/FORMAT.md.
const SEGMENT_HEADER_BYTES = 4096
const FRAME_HEADER_BYTES = 24
const FRAME_ALIGNMENT = 8
const SEGMENT_NAME = /^(\d{20})\.seg$/

export class RawRecords {
  readonly #files: { firstSeq: number; fd: number }[]
  /** The offset of each payload in its file. */
  readonly #offsets: Float64Array
  readonly #lengthOf: (seq: number) => number

  /** Reads seqs from 0 to below `count` of the log in `dir`, which must not have been trimmed, cut or closed. */
  constructor(dir: string, count: number, lengthOf: (seq: number) => number) {
    const firstSeqs = readdirSync(dir).flatMap((name) => SEGMENT_NAME.exec(name)?.[1] ?? [])
    this.#files = firstSeqs.sort().map((digits) => ({
      firstSeq: Number(digits),
      fd: openSync(join(dir, `${digits}.seg`), 'r'),
    }))
    this.#lengthOf = lengthOf
    this.#offsets = new Float64Array(count)
    for (const [i, { firstSeq }] of this.#files.entries()) {
      const end = Math.min(count, this.#files[i + 1]?.firstSeq ?? count)
      let offset = SEGMENT_HEADER_BYTES
      for (let seq = firstSeq; seq < end; seq += 1) {
        this.#offsets[seq] = offset + FRAME_HEADER_BYTES
        offset += Math.ceil((FRAME_HEADER_BYTES + lengthOf(seq)) / FRAME_ALIGNMENT) * FRAME_ALIGNMENT
      }
    }
  }

  /** Reads a record on a libuv worker. */
  read(seq: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const buffer = Buffer.allocUnsafe(this.#lengthOf(seq))
      read(this.#fdOf(seq), buffer, 0, buffer.length, this.#offsets[seq] as number, (error) => {
        if (error) reject(error)
        else resolve(buffer)
      })
    })
  }

  /** Reads a record on the calling thread. */
  readSync(seq: number): Buffer {
    const buffer = Buffer.allocUnsafe(this.#lengthOf(seq))
    readSync(this.#fdOf(seq), buffer, 0, buffer.length, this.#offsets[seq] as number)
    return buffer
  }

  close(): void {
    for (const { fd } of this.#files) closeSync(fd)
  }

  #fdOf(seq: number): number {
    let i = this.#files.length - 1
    while ((this.#files[i]?.firstSeq ?? 0) > seq) i -= 1
    return this.#files[i]?.fd as number
  }
}
