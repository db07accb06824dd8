/** Input of commands: a file, a pipe or stdin, cut into records. */
import { closeSync, createReadStream, fstatSync, open } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { InputError } from '../terminal/input-error.js'

const READ_BYTES = 256 * 1024
const NEWLINE = 10
const CARRIAGE_RETURN = 13
const PREFIX_BYTES = 4

export interface Input extends AsyncDisposable {
  chunks: Readable
  /** The file's length; 0 for a pipe and for stdin. */
  totalBytes: number
}

/** Opens `file`, or stdin if it is "-" or undefined. */
export async function openInput(file: string | undefined): Promise<Input> {
  if (file === undefined || file === '-') return makeInput(process.stdin, 0)
  try {
    // Opened once: the writer of a FIFO would lose what it has written when a first opening is closed.
    const fd = await promisify(open)(file, 'r')
    const kind = fstatSync(fd)
    // A blocking read of a FIFO would keep the process from ending.
    if (kind.isFIFO()) return makeInput(new Socket({ fd, readable: true, writable: false }), 0)
    if (!kind.isDirectory()) return makeInput(createReadStream('', { fd, highWaterMark: READ_BYTES }), kind.size)
    closeSync(fd)
  } catch (error) {
    throw new InputError(`can't read ${file}: ${(error as Error).message}`)
  }
  throw new InputError(`can't read ${file}: it is a folder`)
}

function makeInput(chunks: Readable, totalBytes: number): Input {
  return {
    chunks,
    totalBytes,
    // A pipe that stays open would keep the process from ending.
    [Symbol.asyncDispose]: async () => void chunks.destroy(),
  }
}

/** Whether `line` has no character except a carriage return. */
export function isBlank(line: Buffer): boolean {
  return line.length === 0 || (line.length === 1 && line[0] === CARRIAGE_RETURN)
}

/** Cuts chunks into records; the incomplete last one waits for the next chunk. */
export interface Splitter {
  /** Whether its records are lines, of which blank ones are none. */
  readonly lines: boolean
  /** The records that end in `chunk`, up to `problem`. */
  push(chunk: Buffer): Buffer[]
  /** The last record, if the input has no end mark after it. */
  end(): Buffer[]
  /** The error in the input after the records delivered so far. */
  readonly problem: InputError | undefined
}

/** Bytes of a record that began in an earlier chunk, joined when its end has arrived. */
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

/** Each line without its newline, blank lines too. */
export class LineSplitter implements Splitter {
  readonly lines = true
  readonly #carry = new Carry()
  readonly #maxBytes: number
  #count = 0
  problem: InputError | undefined

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
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
    if (line.length > this.#maxBytes) {
      this.#tooLong()
      return false
    }
    records.push(line)
    this.#count++
    return true
  }

  #tooLong(): void {
    this.problem = new InputError(
      `line ${this.#count + 1} has more than ${this.#maxBytes} bytes; set a larger --max-record-bytes`,
    )
  }
}

/** One record for each u32 length, little-endian, and as many bytes. */
export class PrefixSplitter implements Splitter {
  readonly lines = false
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
          `record ${this.#records + 1} of the input has a length of ${length} bytes; allowed are 1 to ${this.#maxBytes}`,
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
