/** The addon's reports on the files of a log that need not be open. */
import type { RecoveryState } from '../types.js'

/** One frame as it is in the file, whole or damaged. */
export interface NativeFrame {
  /** The frame's byte offset in the file. */
  offset: number
  /** The frame's length with header and padding. A damaged frame extends to the next whole frame. */
  bytes: number
  kind: 'record' | 'padding' | 'marker' | 'void' | 'free' | 'damaged'
  /** The frame's seq; for a marker, the seq of the next record. */
  seq: number
  /** The record's length in bytes. */
  length: number
  /**
   * The number of earlier records that were not known to be synced when the frame was made. For a void, the number of
   * its seqs.
   */
  unsynced: number
  /** The record's timestamp in milliseconds since 1970. */
  timestamp: number
  /** Whether the next record belongs to the same batch. */
  batchContinues: boolean
  /** The reason why the frame is damaged; '' if it is whole. */
  problem: string
}

/** Consecutive frames of one segment. */
export interface NativeExtent {
  beginOffset: number
  /** Equal to `beginOffset` if the extent is empty. */
  endOffset: number
  /** The seq after the last seq of the extent. */
  nextSeq: number
  records: number
  /** The lowest and the highest timestamp of its records, in milliseconds since 1970; 0 if it has none. */
  oldestMs: number
  newestMs: number
  /**
   * The segment's header and the bytes of the extent, as they were checked, from one open file; undefined if the extent
   * is empty or long, or has a void.
   */
  copy?: Buffer
}

export interface NativeSegmentReport {
  name: string
  /** The file's length. */
  bytes: number
  firstSeq: number
  /** The number of intact records. */
  records: number
  /** The byte offset after the last whole frame. */
  endOffset: number
  /** The reason why the header is damaged; '' if it is intact. */
  headerProblem: string
}

export interface NativeVerifyReport {
  state: RecoveryState
  uuid: string
  firstSeq: number
  nextSeq: number
  records: number
  payloadBytes: number
  /** Every record below this seq is known to be synced. */
  syncedEnd: number
  segments: NativeSegmentReport[]
  /** Every place that cannot be read. `lostLast` is below `lostFirst` if no seq is lost. */
  problems: { segment: string; offset: number; lostFirst: number; lostLast: number; message: string }[]
}

export interface NativeRepairReport {
  state: RecoveryState
  applied: boolean
  /** The bytes that were cut, or that `apply` would cut. `removed`: the whole file. */
  cuts: { segment: string; offset: number; bytes: number; removed: boolean }[]
  /** The folder that holds a copy of the cut bytes; '' if none was given. */
  backup: string
}
