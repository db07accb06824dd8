/** Finds the records of a stream: in its file, in memory, or in the stream that it was forked from. */
import { DurlogError } from '../errors.js'
import type { StreamCodec } from './encoding.js'
import type { FolderFiles } from './folder-files.js'
import type { StreamState } from './state.js'
import { StreamFile } from './stream-file.js'
import type { StreamTable } from './table.js'
import type { StreamEncoding, StreamRecord } from './types.js'

/** Records of memory that are delivered at once. */
const TAIL_RECORDS = 1024
/** Bytes that are delivered at once unless the caller wants more. */
const CHUNK_BYTES = 1 << 18

export class RecordSource<V> {
  readonly #files: FolderFiles
  readonly #table: () => StreamTable
  readonly #codecOf: (encoding: StreamEncoding) => StreamCodec
  #file: StreamFile | undefined
  /** The stream of `#file`. */
  #name = ''

  constructor(files: FolderFiles, table: () => StreamTable, codecOf: (encoding: StreamEncoding) => StreamCodec) {
    this.#files = files
    this.#table = table
    this.#codecOf = codecOf
  }

  /** Some visible records of `state` from `from` on; none if there is none yet. */
  async next(state: StreamState, from: number, maxBytes?: number): Promise<StreamRecord<V>[]> {
    const { owner, end } = ownerOf(state, from)
    const { disk } = owner
    if (from < disk.first)
      throw new DurlogError(
        'ERR_DURLOG_OUT_OF_RANGE',
        `the stream "${state.name}" begins at seq ${disk.first}, and ${from} is lost: read from there`,
      )
    if (from >= disk.next) return this.#inMemory(owner, from, end, maxBytes ?? CHUNK_BYTES)
    if (this.#name !== owner.name || this.#file === undefined) {
      await this.close()
      this.#file = new StreamFile(this.#files, owner.name, this.#codecOf(owner.meta.encoding))
      this.#name = owner.name
    }
    const records = await this.#file.read<V>(disk, from, maxBytes)
    return from + records.length > end ? records.slice(0, end - from) : records
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
  }

  #inMemory({ disk, tail, meta }: StreamState, from: number, end: number, maxBytes: number): StreamRecord<V>[] {
    const codec = this.#codecOf(meta.encoding)
    const records: StreamRecord<V>[] = []
    let bytes = 0
    for (let seq = from; seq < Math.min(end, from + TAIL_RECORDS) && bytes < maxBytes; seq++) {
      const { data, timeMs, position } = this.#table().tail.at(tail[seq - disk.next] as number)
      bytes += data.length
      records.push({ seq, value: codec.decode(data) as V, timestamp: timeMs, position })
    }
    return records
  }
}

/** The stream that holds record `from` of `state`, and the seq before which it does. */
function ownerOf(state: StreamState, from: number): { owner: StreamState; end: number } {
  let owner = state
  let end = state.visible
  for (;;) {
    const { source, meta } = owner
    const forkSeq = meta.fork?.seq ?? 0
    if (source === undefined || from >= forkSeq) return { owner, end }
    end = Math.min(end, forkSeq)
    owner = source
  }
}
