/** Reads and copies files. */
import { close, closeSync, constants, open, read } from 'node:fs'
import { open as openHandle } from 'node:fs/promises'
import { promisify } from 'node:util'
import { native } from '../../native/native.js'
import { syncFile } from '../../support/durable-files.js'
import { SAFE_FLAGS, takeOwner } from '../../support/new-files.js'

const [openFile, readFile, closeFile] = [promisify(open), promisify(read), promisify(close)]
/**
 * A descriptor, because an abandoned FileHandle would print a warning and, in later versions of Node, end the process.
 */
const abandoned = new FinalizationRegistry<number>(closeSync)

const COPIED_AT_ONCE = 1 << 20
/** The errors of opening and reading a symbolic link, a folder, a FIFO and a socket with SAFE_FLAGS. */
const NOT_A_FILE = ['ELOOP', 'EISDIR', 'ESPIPE', 'ENXIO']

/** The reason why the file at `path` cannot be read, if it is missing or is not a regular file. */
export function problemOf(error: unknown, path: string): string | undefined {
  const { code = '' } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return `${path} is missing`
  return NOT_A_FILE.includes(code) ? `${path} is not a regular file` : undefined
}

/**
 * Copies the first `bytes` bytes of a file and syncs those of the copy. The name of the copy is durable after the next
 * sync of its folder. Returns the CRC-32C of the copy.
 */
export async function copyStart(from: string, to: string, bytes: number): Promise<number> {
  const source = await openHandle(from, constants.O_RDONLY | SAFE_FLAGS)
  try {
    const copy = await openHandle(to, 'wx', 0o600)
    try {
      takeOwner(to)
      let crc = 0
      for (let at = 0; at < bytes; at += COPIED_AT_ONCE) {
        const piece = await readRange(source, at, Math.min(at + COPIED_AT_ONCE, bytes))
        crc = native.crc32c(crc, piece)
        await copy.appendFile(piece)
      }
      await syncFile(copy)
      return crc
    } finally {
      await copy.close()
    }
  } finally {
    await source.close()
  }
}

/** Reads the bytes from offset `from` to offset `to`, or fewer if the file ends before `to`. */
export async function readRange(file: Pick<ReadFile, 'read'>, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(to - from)
  let filled = 0
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, from + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

/** A file that is open for reading. If its reader is abandoned without `close`, the garbage collector closes it. */
export class ReadFile {
  readonly path: string
  readonly #descriptor: number

  private constructor(path: string, descriptor: number) {
    this.path = path
    this.#descriptor = descriptor
    abandoned.register(this, descriptor, this)
  }

  static async open(path: string): Promise<ReadFile> {
    return new ReadFile(path, await openFile(path, constants.O_RDONLY | SAFE_FLAGS))
  }

  read(bytes: Buffer, offset: number, length: number, position: number): Promise<{ bytesRead: number }> {
    return readFile(this.#descriptor, bytes, offset, length, position)
  }

  /** Must be called only once. */
  async close(): Promise<void> {
    abandoned.unregister(this)
    await closeFile(this.#descriptor)
  }
}
