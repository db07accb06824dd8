/** Reports on a log that need no open writer. */
import type { RecoveryState } from '../types.js'

/** One frame as it is in the file, whole or not. */
export interface NativeFrame {
  offset: number
  bytes: number
  kind: 'record' | 'padding' | 'marker' | 'void' | 'free' | 'damaged'
  seq: number
  length: number
  unsynced: number
  timestamp: number
  batchContinues: boolean
  /** The reason why it is damaged; '' if it is not. */
  problem: string
}

/** Frames of one segment that hold the seqs from one to below another. */
export interface NativeExtent {
  beginOffset: number
  /** `beginOffset` if the extent is empty. */
  endOffset: number
  /** After the last seq of the extent. */
  nextSeq: number
  records: number
  /** Of its records, in milliseconds since 1970; 0 if it has none. */
  oldestMs: number
  newestMs: number
}

export interface NativeSegmentReport {
  name: string
  bytes: number
  firstSeq: number
  records: number
  endOffset: number
  headerProblem: string
}

export interface NativeVerifyReport {
  state: RecoveryState
  uuid: string
  firstSeq: number
  nextSeq: number
  records: number
  payloadBytes: number
  /** Every record below it is known to be synced. */
  syncedEnd: number
  segments: NativeSegmentReport[]
  problems: { segment: string; offset: number; lostFirst: number; lostLast: number; message: string }[]
}

export interface NativeRepairReport {
  state: RecoveryState
  applied: boolean
  /** The bytes that were or would be cut, by file; the backup holds them. */
  cuts: { segment: string; offset: number; bytes: number; removed: boolean }[]
  backup: string
}
