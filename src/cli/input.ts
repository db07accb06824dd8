/** Input of commands: a file or stdin, cut into records. */
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { InputError } from '../terminal/input-error.js'

const READ_BYTES = 256 * 1024
const NEWLINE = 10
const PREFIX_BYTES = 4

export interface Input {
  chunks: AsyncIterable<Buffer>
  /** Length of the file; 0 for stdin. */
  totalBytes: number
}

/** Opens `file`, or stdin where it is "-" or left out. */
export async function openInput(file: string | undefined): Promise<Input> {
  if (file === undefined || file === '-') return { chunks: process.stdin, totalBytes: 0 }
  try {
    await (await open(file)).close()
    return { chunks: createReadStream(file, { highWaterMark: READ_BYTES }), totalBytes: (await stat(file)).size }
  } catch (error) {
    throw new InputError(`can't read ${file}: ${(error as Error).message}`)
  }
}

/** Cuts chunks into records; the incomplete last one waits for the next chunk. */
export interface Splitter {
  /** The records that end in `chunk`, up to `problem`. */
  push(chunk: Buffer): Buffer[]
  /** The record that the input ends with, if it has no end mark of its own. */
  end(): Buffer[]
  /** The error in the input after the records delivered so far. */
  readonly problem: InputError | undefined
}

/** Bytes of a record that began in an earlier chunk, joined only when its end is there. */
class Carry {
  #pieces: Buffer[] = []
  bytes = 0

  add(piece: Buffer): void {
    if (piece.length === 0) return
    this.#pieces.push(piece)
    this.bytes += piece.length
  }

  take(): Buffer {
    const whole = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces)
    this.#pieces = []
    this.bytes = 0
    return whole
  }
}

/** One record for each line, without its newline. */
export class LineSplitter implements Splitter {
  readonly #carry = new Carry()
  readonly #maxBytes: number
  readonly #skipEmpty: boolean
  #lines = 0
  problem: InputError | undefined

  constructor(maxBytes: number, skipEmpty: boolean) {
    this.#maxBytes = maxBytes
    this.#skipEmpty = skipEmpty
  }

  push(chunk: Buffer): Buffer[] {
    const records: Buffer[] = []
    let start = 0
    let end = chunk.indexOf(NEWLINE)
    while (end >= 0) {
      let line = chunk.subarray(start, end)
      if (this.#carry.bytes > 0) {
        this.#carry.add(line)
        line = this.#carry.take()
      }
      if (!this.#accept(line, records)) return records
      start = end + 1
      end = chunk.indexOf(NEWLINE, start)
    }
    this.#carry.add(chunk.subarray(start))
    if (this.#carry.bytes > this.#maxBytes) this.#tooLong()
    return records
  }

  end(): Buffer[] {
    const records: Buffer[] = []
    if (this.#carry.bytes > 0) this.#accept(this.#carry.take(), records)
    return records
  }

  #accept(line: Buffer, records: Buffer[]): boolean {
    if (line.length === 0) {
      if (!this.#skipEmpty) {
        this.problem = new InputError(
          `line ${this.#lines + 1} is empty: a record has at least one byte; --skip-empty leaves such lines out`,
        )
        return false
      }
    } else if (line.length > this.#maxBytes) {
      this.#tooLong()
      return false
    } else {
      records.push(line)
    }
    this.#lines++
    return true
  }

  #tooLong(): void {
    this.problem = new InputError(
      `line ${this.#lines + 1} has more than ${this.#maxBytes} bytes; raise --max-record-bytes`,
    )
  }
}

/** One record for each u32 length, little-endian, and as many bytes. */
export class PrefixSplitter implements Splitter {
  readonly #carry = new Carry()
  readonly #maxBytes: number
  #records = 0
  /** Bytes of the current record with its prefix. */
  #wanted = PREFIX_BYTES
  problem: InputError | undefined

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  push(chunk: Buffer): Buffer[] {
    this.#carry.add(chunk)
    if (this.#carry.bytes < this.#wanted) return []
    const bytes = this.#carry.take()
    const records: Buffer[] = []
    let start = 0
    while (bytes.length - start >= PREFIX_BYTES) {
      const length = bytes.readUInt32LE(start)
      if (length === 0 || length > this.#maxBytes) {
        this.problem = new InputError(
          `record ${this.#records + 1} of the input says it has ${length} bytes; it may have 1 to ${this.#maxBytes}`,
        )
        return records
      }
      this.#wanted = PREFIX_BYTES + length
      if (bytes.length - start < this.#wanted) break
      records.push(bytes.subarray(start + PREFIX_BYTES, start + this.#wanted))
      this.#records++
      start += this.#wanted
      this.#wanted = PREFIX_BYTES
    }
    this.#carry.add(bytes.subarray(start))
    return records
  }

  end(): Buffer[] {
    if (this.#carry.bytes > 0) this.problem = new InputError(`the input ends within record ${this.#records + 1}`)
    return []
  }
}
