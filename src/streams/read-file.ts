/** A file that is open for reading. If its reader is abandoned without `close`, the garbage collector closes it. */
import { close, closeSync, open, read } from 'node:fs'
import { promisify } from 'node:util'

const [openFile, readFile, closeFile] = [promisify(open), promisify(read), promisify(close)]
/**
 * A descriptor, because an abandoned FileHandle would print a warning and, in later versions of Node, end the process.
 */
const abandoned = new FinalizationRegistry<number>(closeSync)

export class ReadFile {
  readonly #descriptor: number

  private constructor(descriptor: number) {
    this.#descriptor = descriptor
    abandoned.register(this, descriptor, this)
  }

  static async open(path: string): Promise<ReadFile> {
    return new ReadFile(await openFile(path, 'r'))
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
