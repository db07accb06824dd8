/**
 * Reads records of a stream in a process that shares the folder: those in files from the files, all others from the
 * owner.
 */
import type { Records, StreamView } from '../access.js'
import type { StreamCodec } from '../encoding.js'
import type { FolderFiles } from '../folder-files.js'
import type { FileDisk } from '../state.js'
import { StreamFile } from '../stream-file.js'
import type { StreamEncoding, StreamRecord } from '../types.js'
import type { Link } from './link.js'
import { recordsIn, type SentFile } from './messages.js'

/** The file that is being read. */
interface Reading {
  /** The position of the entry that created the stream that is read. */
  created: number
  disk: FileDisk
  /** The records of the read stream before this seq are in the file. */
  end: number
  reader: StreamFile
}

export class RemoteRecords<V> implements Records<V> {
  readonly #link: Link
  readonly #files: FolderFiles
  readonly #codecOf: (encoding: StreamEncoding) => StreamCodec
  #reading: Reading | undefined

  constructor(link: Link, files: FolderFiles, codecOf: (encoding: StreamEncoding) => StreamCodec) {
    this.#link = link
    this.#files = files
    this.#codecOf = codecOf
  }

  async next(stream: StreamView, from: number, maxBytes?: number): Promise<StreamRecord<V>[]> {
    if (from >= stream.visible) return []
    const request = async (fromFile: boolean): Promise<StreamRecord<V>[] | SentFile> => {
      const { name, created, visible: to } = stream
      const answer = await this.#link.call({ op: 'records', stream: name, created, from, to, maxBytes, fromFile })
      return Buffer.isBuffer(answer) ? this.#recordsIn(answer, stream) : (answer as SentFile)
    }
    if (!this.#isReading(stream, from)) {
      const found = await request(false)
      if (Array.isArray(found)) return found
      await this.#open(stream, found)
    }
    const { reader, disk, end } = this.#reading as Reading
    try {
      return (await reader.read<V>(disk, from, maxBytes)).slice(0, Math.min(end, stream.visible) - from)
    } catch {
      // Retention or a deletion may have removed the file, or this process may have no free descriptor: let the owner
      // read.
      await this.close()
      return (await request(true)) as StreamRecord<V>[]
    }
  }

  async close(): Promise<void> {
    await this.#reading?.reader.close()
    this.#reading = undefined
  }

  #isReading({ created }: StreamView, from: number): boolean {
    if (this.#reading?.created !== created) return false
    const { disk, end } = this.#reading
    return from >= disk.first && from < Math.min(disk.next, end)
  }

  async #open({ name, created, meta }: StreamView, file: SentFile): Promise<void> {
    await this.close()
    const { fileName, end } = file
    const reader = new StreamFile(this.#files, { name, fileName: () => fileName }, this.#codecOf(meta.encoding))
    const disk = { ...file, index: Buffer.from(file.index, 'base64') }
    this.#reading = { created, disk, end, reader }
  }

  #recordsIn(payload: Buffer, { meta }: StreamView): StreamRecord<V>[] {
    const codec = this.#codecOf(meta.encoding)
    const records: StreamRecord<V>[] = []
    for (const { seq, timestamp, position, value } of recordsIn(payload))
      records.push({ seq, value: codec.decode(value.data) as V, timestamp, position })
    return records
  }
}
