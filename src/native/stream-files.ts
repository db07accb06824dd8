/** The files of streams. */

/** Flags of a stream in a NativeStreamJob. */
export const StreamFlag = {
  /** Its file is JSON Lines; otherwise it is made of frames. */
  lines: 1,
  /** Remove the files of an earlier stream of that name first. */
  removes: 2,
  /** Records are added to its file. */
  hasFile: 4,
} as const
export const STREAM_RESULT_FIELDS = 4

/** Records of successive positions whose bytes are in one block. It may grow during a job. */
export interface NativeRecordSlab {
  readonly bytes: Uint8Array
  /** The position of its first record. */
  readonly first: number
  readonly count: number
  /** Of each record: where it begins and ends in `bytes`. */
  readonly places: Uint32Array
  /** Of each record: milliseconds since 1970. */
  readonly times: Float64Array
}

/** Additions to the files of several streams. */
export interface NativeStreamJob {
  /** The names of their files, without an extension. */
  names: string[]
  /** Of each: flags, the file's length and CRC-32C, entries of the index that are in its file, bytes in `indexes`, records. */
  streams: Float64Array
  /** The entries of each index after those in its file. */
  indexes: Uint8Array
  /** Of each record to add, stream by stream. */
  positions: Float64Array
  /** They hold these records, in ascending order of positions. */
  slabs: readonly NativeRecordSlab[]
  /** Sync each file by the descriptor that it was written with. */
  sync: boolean
  /** Stop after so many changes of the device. */
  stepLimit: number
}

export interface NativeStreamResult {
  /** Of each: 1 if it was stored, 0 if the file does not have that length; the file's length, its CRC-32C, bytes in `indexes`. */
  streams: Float64Array
  /** The entries of each index that are not in its file. */
  indexes: Uint8Array
  steps: number
  /** The limit was reached. */
  stopped: boolean
}

/** The folders of the streams' files. */
export interface NativeStreamFiles {
  store(job: NativeStreamJob): Promise<NativeStreamResult>
  /**
   * Syncs the file system. Rejects if a write to it has failed since the folders were opened, whichever process made it.
   * ERR_DURLOG_UNSUPPORTED, before anything is synced, if failed writes would not be reported.
   */
  syncAll(): Promise<void>
  close(): void
}
