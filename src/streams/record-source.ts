/** Finds the records of a stream: in its files, in memory, or in the stream that it was forked from. */
import { isCode, ofFileSystem, outOfRange } from '../errors.js'
import type { StreamCodec } from './encoding.js'
import type { FolderFiles } from './folder-files.js'
import type { FileDisk, StreamDisk, StreamState } from './state.js'
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
  #owner: StreamState | undefined

  constructor(files: FolderFiles, table: () => StreamTable, codecOf: (encoding: StreamEncoding) => StreamCodec) {
    this.#files = files
    this.#table = table
    this.#codecOf = codecOf
  }

  /** Some visible records of `state` from `from` on; none if there is none yet. Throws ERR_DURLOG_OUT_OF_RANGE if `from` is gone. */
  async next(state: StreamState, from: number, maxBytes?: number): Promise<StreamRecord<V>[]> {
    const { owner, end, file } = placeOf(state, from)
    if (file === undefined) return this.#inMemory(owner, from, end, maxBytes ?? CHUNK_BYTES)
    if (this.#owner !== owner || this.#file === undefined) {
      await this.close()
      this.#file = new StreamFile(this.#files, owner, this.#codecOf(owner.meta.encoding))
      this.#owner = owner
    }
    try {
      const records = await this.#file.read<V>(file, from, maxBytes)
      return from + records.length > end ? records.slice(0, end - from) : records
    } catch (error) {
      // A checkpoint may have removed the file.
      if (isCode(error, 'ERR_DURLOG_STREAM_CHANGED')) checkKept(state, from)
      throw ofFileSystem(error)
    }
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

function checkKept({ name, firstSeq }: StreamState, seq: number): void {
  if (seq < firstSeq)
    throw outOfRange(`the stream "${name}" begins at seq ${firstSeq}, and ${seq} is not kept any more: read from there`)
}

/** Where a record is, until a checkpoint or retention moves it. */
export interface RecordPlace {
  /** The stream that has the record: the one that is read, or one that it was forked from. */
  owner: StreamState
  /** The seq before which this stream has records of the one that is read. */
  end: number
  /** Undefined if the record is in memory. */
  file: FileDisk | undefined
}

/** Of the visible record `from`. Throws ERR_DURLOG_OUT_OF_RANGE if it is not kept any more. */
export function placeOf(state: StreamState, from: number): RecordPlace {
  checkKept(state, from)
  const { owner, end } = ownerOf(state, from)
  const { disk } = owner
  return { owner, end, file: from >= disk.next ? undefined : fileWith(disk, from) }
}

/** The file that has the record `seq`, which is before `disk.next`. */
function fileWith(disk: StreamDisk, seq: number): FileDisk {
  return disk.older?.find(({ first, next }) => seq >= first && seq < next) ?? disk
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
