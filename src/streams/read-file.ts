/** A file that is open for reading. A reader may be abandoned without an end: the file is closed when it is collected. */
import { close, closeSync, open, read } from 'node:fs'
import { promisify } from 'node:util'

const [openFile, readFile, closeFile] = [promisify(open), promisify(read), promisify(close)]
/** By descriptor. A FileHandle would print a warning, and in later versions of Node end the process. */
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

  /** To be called once. */
  async close(): Promise<void> {
    abandoned.unregister(this)
    await closeFile(this.#descriptor)
  }
}
