/** Reads the records of a stream from its files, from memory, or from the stream that it was forked from. */
import { DurlogError, isCode, outOfRange } from '../../errors.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import type { StreamCodec } from '../port/encoding.js'
import type { StreamEncoding, StreamRecord } from '../port/types.js'
import { holderOf } from '../state/fork-chain.js'
import type { FileDisk, StreamDisk, StreamState } from '../state/state.js'
import type { StreamTable } from '../state/table.js'
import { StreamFile, type StreamFolder } from './stream-file.js'

/** The number of records from memory that are returned at once. */
const MEM_TABLE_RECORDS = 1024
/** The number of bytes of records from memory that are returned at once. */
const CHUNK_BYTES = 1 << 18

export class RecordSource<V> {
  readonly #folder: StreamFolder
  readonly #table: () => StreamTable
  readonly #codecOf: (encoding: StreamEncoding) => StreamCodec
  #file: StreamFile | undefined
  /** The stream to which `#file` belongs. */
  #owner: StreamState | undefined

  constructor(folder: StreamFolder, table: () => StreamTable, codecOf: (encoding: StreamEncoding) => StreamCodec) {
    this.#folder = folder
    this.#table = table
    this.#codecOf = codecOf
  }

  /**
   * Returns visible records of `state` from seq `from` on, or none if the record `from` is not visible yet. Throws
   * ERR_DURLOG_OUT_OF_RANGE if the record `from` is not kept any more.
   */
  async next(state: StreamState, from: number): Promise<StreamRecord<V>[]> {
    const { owner, end, file } = placeOf(state, from)
    if (file === undefined) return this.#inMemory(owner, from, end)
    if (this.#owner !== owner || this.#file === undefined) {
      await this.close()
      this.#file = new StreamFile(this.#folder, owner, this.#codecOf(owner.meta.encoding))
      this.#owner = owner
    }
    try {
      const records = await this.#file.read<V>(file, from)
      // If the stream was deleted meanwhile, the file may be that of a new stream with the same name.
      if (this.#table().find(owner.name)?.created !== owner.created) throw removedStream(state.name)
      return from + records.length > end ? records.slice(0, end - from) : records
    } catch (error) {
      // The file may be missing because retention or a deletion has removed it.
      if (isCode(error, 'ERR_DURLOG_STREAM_CHANGED')) checkKept(state, from)
      throw ofFileSystem(error)
    }
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
  }

  #inMemory({ disk, unflushed, meta }: StreamState, from: number, end: number): StreamRecord<V>[] {
    const codec = this.#codecOf(meta.encoding)
    const records: StreamRecord<V>[] = []
    let bytes = 0
    for (let seq = from; seq < Math.min(end, from + MEM_TABLE_RECORDS) && bytes < CHUNK_BYTES; seq++) {
      const { data, timeMs, position } = this.#table().memTable.at(unflushed.at(seq - disk.next))
      bytes += data.length
      const value = codec.decode(data)
      // The caller may change or transfer the bytes, and a checkpoint has yet to write those in memory.
      records.push({ seq, value: (value === data ? Buffer.from(data) : value) as V, timestamp: timeMs, position })
    }
    return records
  }
}

export function removedStream(name: string): DurlogError {
  return new DurlogError('ERR_DURLOG_NOT_FOUND', `the stream "${name}" was deleted while it was read`)
}

/** Throws ERR_DURLOG_OUT_OF_RANGE if the record `seq` is not kept any more. */
export function checkKept({ name, firstSeq }: StreamState, seq: number): void {
  if (seq < firstSeq)
    throw outOfRange(
      `record ${seq} of the stream "${name}" is not kept any more: read from its oldest record, seq ${firstSeq}`,
    )
}

/** The place of a record, until a checkpoint or retention moves it. */
export interface RecordPlace {
  /** The stream that holds the record: the one that is read, or one that it was forked from. */
  owner: StreamState
  /** The records of the read stream before this seq are in `owner`. */
  end: number
  /** The file of the record; undefined if it is in memory. */
  file: FileDisk | undefined
}

/** Finds the visible record `from`. Throws ERR_DURLOG_OUT_OF_RANGE if it is not kept any more. */
export function placeOf(state: StreamState, from: number): RecordPlace {
  checkKept(state, from)
  const { owner, fork } = holderOf(state, from)
  const { disk } = owner
  const end = Math.min(state.visible, fork?.start ?? Number.POSITIVE_INFINITY)
  return { owner, end, file: from >= disk.next ? undefined : fileWith(disk, from) }
}

/** The file that has the record `seq`, which must be before `disk.next`. */
function fileWith(disk: StreamDisk, seq: number): FileDisk {
  return disk.older?.find(({ first, next }) => seq >= first && seq < next) ?? disk
}
