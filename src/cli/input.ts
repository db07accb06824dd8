/** Reads the input of commands, a file, a pipe or stdin, and splits it into records. */
import { closeSync, createReadStream, fstatSync, open } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { LineSplitter } from '../support/line-splitter.js'
import { InputError } from '../terminal/input-error.js'

const READ_BYTES = 256 * 1024
const CARRIAGE_RETURN = 13
const PREFIX_BYTES = 4
const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

export interface Input extends AsyncDisposable {
  chunks: Readable
  /** The file's length in bytes; 0 for a pipe and for stdin. */
  totalBytes: number
}

/** Opens `file`, or stdin if it is "-" or undefined. */
export async function openInput(file: string | undefined): Promise<Input> {
  if (file === undefined || file === '-') return makeInput(process.stdin, 0)
  try {
    // Opened only once: if a FIFO were opened and closed first, the bytes that its writer has written would be lost.
    const fd = await promisify(open)(file, 'r')
    const kind = fstatSync(fd)
    // A socket, because a blocking read of a FIFO would prevent the process from ending.
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
    // An open pipe would prevent the process from ending.
    [Symbol.asyncDispose]: async () => void chunks.destroy(),
  }
}

/** Whether `line` is empty or consists of a carriage return. */
export function isBlank(line: Buffer): boolean {
  return line.length === 0 || (line.length === 1 && line[0] === CARRIAGE_RETURN)
}

/** Splits chunks into records. Keeps an incomplete record until the next chunk. */
export interface Splitter {
  /** Whether the records are lines. Blank lines are not records. */
  readonly lines: boolean
  /**
   * Returns the records that end in `chunk`. If there is an error in it, sets `problem` and returns the records before
   * it.
   */
  push(chunk: Buffer): Buffer[]
  /** Ends the input. Returns the last record if no delimiter follows it. */
  end(): Buffer[]
  /** The error in the input after the records returned so far; undefined if there is none. */
  readonly problem: InputError | undefined
}

/** Splits the input into lines without their newline, including blank lines. */
export class InputLines implements Splitter {
  readonly lines = true
  readonly #splitter: LineSplitter
  readonly #maxBytes: number
  readonly #remedy: string
  readonly #isCut: boolean
  readonly #skipsMark: boolean
  #count = 0
  problem: InputError | undefined

  /**
   * A line of more than `maxBytes` is an error, which `remedy` completes. With `isCut` it is returned without the bytes
   * after the first `maxBytes` + 1. With `skipsMark`, a byte order mark at the beginning of the input is not part of
   * the first line.
   */
  constructor(
    maxBytes: number,
    { remedy, isCut, skipsMark }: { remedy?: string; isCut?: boolean; skipsMark?: boolean } = {},
  ) {
    this.#maxBytes = maxBytes
    this.#remedy = remedy ?? 'set a larger --max-record-bytes'
    this.#isCut = isCut ?? false
    this.#skipsMark = skipsMark ?? false
    this.#splitter = new LineSplitter(maxBytes, this.#isCut ? undefined : () => this.#tooLong())
  }

  push(chunk: Buffer): Buffer[] {
    return this.#accepted(this.#splitter.split(chunk))
  }

  end(): Buffer[] {
    const last = this.#splitter.last()
    return this.#accepted(last === undefined ? [] : [last])
  }

  #accepted(lines: Iterable<Buffer>): Buffer[] {
    const records: Buffer[] = []
    try {
      for (const line of lines) {
        if (line.length > this.#maxBytes && !this.#isCut) throw this.#tooLong()
        const isMarked = this.#skipsMark && this.#count === 0 && line.indexOf(BYTE_ORDER_MARK) === 0
        records.push(isMarked ? line.subarray(BYTE_ORDER_MARK.length) : line)
        this.#count++
      }
    } catch (error) {
      this.problem = error as InputError
    }
    return records
  }

  #tooLong(): InputError {
    return new InputError(`line ${this.#count + 1} has more than ${this.#maxBytes} bytes: ${this.#remedy}`)
  }
}

/**
 * Yields the records of `input` as they arrive, those that end in one chunk together. `onRead` is called once they are
 * used, with the number of bytes of the chunk. Throws the problem of `splitter` after the records before it.
 */
export async function* recordsIn(
  { chunks }: Input,
  splitter: Splitter,
  onRead: (bytes: number) => void = () => {},
): AsyncGenerator<Buffer[], void, undefined> {
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    yield splitter.push(chunk)
    if (splitter.problem !== undefined) throw splitter.problem
    onRead(chunk.length)
  }
  yield splitter.end()
  if (splitter.problem !== undefined) throw splitter.problem
}

/** Splits an input in which a length (u32, little-endian) precedes each record. */
export class PrefixSplitter implements Splitter {
  readonly lines = false
  readonly #maxBytes: number
  /** The bytes of a record that began in an earlier chunk. They are joined once its end has arrived. */
  #pieces: Buffer[] = []
  #bytes = 0
  #records = 0
  /** The length of the current record with its prefix, as far as it is known. */
  #wanted = PREFIX_BYTES
  problem: InputError | undefined

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  push(chunk: Buffer): Buffer[] {
    this.#pieces.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes < this.#wanted) return []
    const bytes = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces)
    const records: Buffer[] = []
    let start = 0
    while (bytes.length - start >= PREFIX_BYTES) {
      const length = bytes.readUInt32LE(start)
      if (length === 0 || length > this.#maxBytes) {
        this.problem = new InputError(
          `record ${this.#records + 1} of the input has a length of ${length} bytes; a length must be from 1 to ${this.#maxBytes}`,
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
    this.#pieces = start < bytes.length ? [bytes.subarray(start)] : []
    this.#bytes = bytes.length - start
    return records
  }

  end(): Buffer[] {
    if (this.#bytes > 0) this.problem = new InputError(`the input ends within record ${this.#records + 1}`)
    return []
  }
}
