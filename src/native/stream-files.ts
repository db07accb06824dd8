/** The addon's interface for the files of streams. */
import type { DurlogError } from '../errors.js'

/** The flags of a stream in a NativeStreamJob. */
export const StreamFlag = {
  /** The stream's file is JSON Lines. Otherwise it consists of frames. */
  lines: 1,
  /** First remove the files of an earlier stream with the same name. */
  removes: 2,
  /** The job adds records to the stream's file. */
  hasFile: 4,
} as const
export const STREAM_RESULT_FIELDS = 4

/**
 * Records whose bytes are in one block, usually with consecutive positions. Records may be added to the slab while a
 * job runs.
 */
export interface NativeRecordSlab {
  readonly bytes: Uint8Array
  /** The positions of the records, ascending, if they are not consecutive. */
  readonly positions?: Float64Array | undefined
  /** The position of the slab's first record. */
  readonly first: number
  readonly count: number
  /** For each record, the offsets in `bytes` at which it begins and ends. */
  readonly places: Uint32Array
  /** For each record, its timestamp in milliseconds since 1970. */
  readonly times: Float64Array
}

/** Additions to the files of several streams. */
interface NativeStreamJob {
  /** The name of each stream's files, without an extension. */
  names: string[]
  /**
   * For each stream: its flags, the length and the CRC-32C of its file, the number of index entries in its index file,
   * the number of its bytes in `indexes`, and the number of records to add.
   */
  streams: Float64Array
  /** For each stream, the index entries that are not in its index file yet. */
  indexes: Uint8Array
  /** The positions of the records to add, stream by stream. */
  positions: Float64Array
  /** The slabs that hold these records, in ascending order of positions. */
  slabs: readonly NativeRecordSlab[]
  /** Whether to sync each file, by the descriptor with which it was written. */
  sync: boolean
  /** Stop after this number of changes on the device. */
  stepLimit: number
}

export interface NativeStreamResult {
  /**
   * For each stream: 1 if it was stored, 0 if its file did not have the expected length; the length and the CRC-32C of
   * its file; the number of its bytes in `indexes`.
   */
  streams: Float64Array
  /** For each stream, the index entries that are not in its index file. */
  indexes: Uint8Array
  /** By their places in the job, the errors of the streams that failed. The others were stored nevertheless. */
  failures: Record<string, DurlogError>
  /** The number of changes that were made on the device. */
  steps: number
  /** Whether the job stopped at `stepLimit`. */
  stopped: boolean
}

/** The content of one file of a stream. */
export interface NativeFileDisk {
  /** The file has the records from seq `first` to `next` - 1. */
  readonly first: number
  readonly next: number
  /** The offset after the last of these records. */
  readonly bytes: number
  /** CRC-32C of the file up to this offset. */
  readonly crc: number
  /** The index entries that are not in the index file yet: those after its last full block. */
  readonly index: Uint8Array
}

interface NativeStreamBody {
  /** The seq after the last record that was stored. */
  next: number
  /** The number of bytes that were stored. */
  size: number
  /** The time of the first record that was stored. */
  timeMs: number
  /** If the first record does not fit: the number of bytes that it needs. Otherwise 0. */
  needed: number
  /** If the record `next` is the first one and cannot be read: the reason. Otherwise ''. */
  problem: string
  /**
   * Of `readStored`: the index entries of the records, after that of the record before them if the file has one.
   * Undefined if no record was stored.
   */
  entries?: Uint8Array | undefined
}

/** The folders that hold the files of streams. */
export interface NativeStreamFiles {
  store(job: NativeStreamJob): Promise<NativeStreamResult>
  /**
   * Stores the records from seq `from` to seq `to` - 1 into `into`, until it is almost full. The file must have these
   * records. `name` is that of the file without its extension. `encoding`: 1 for json, 2 for utf8, 3 for buffer. Each
   * value of JSON is followed by a comma; the others are stored one after the other. Returns at once if there are few
   * bytes to read and the system has them in memory.
   */
  readBody(
    name: string,
    encoding: number,
    disk: NativeFileDisk,
    from: number,
    to: number,
    into: Uint8Array,
  ): NativeStreamBody | Promise<NativeStreamBody>
  /**
   * As `readBody`, but stores the records as they are in the file, and does not compare the CRC-32C of the whole file.
   */
  readStored: NativeStreamFiles['readBody']
  /**
   * Syncs the whole file system. Rejects if a write of any process to it has failed since the folders were opened. If
   * the system does not report such failures, rejects with ERR_DURLOG_UNSUPPORTED and syncs nothing.
   */
  syncAll(): Promise<void>
  close(): void
}
