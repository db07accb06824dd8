/** The typed face of the addon. Nothing above this file knows how it is loaded. */
import { DurlogError } from '../errors.js'
import { loadAddon } from './binary.js'
import type { NativeCursorSummary, NativeCuts, NativeDurableCursor } from './cursors.js'
import type { NativeExtent, NativeFrame, NativeRepairReport, NativeVerifyReport } from './inspection.js'
import type { NativeFolderPlan, NativeLog, NativeOptions, NativeRetentionPolicy, NativeSharedLog } from './log.js'
import type { NativeBounds, NativeLivePage, NativeLogReader, NativePointReader } from './reading.js'
import type { NativeStreamFiles } from './stream-files.js'

export interface Native {
  openStreamFiles(records: string, index: string): Promise<NativeStreamFiles>
  setErrorClass(errorClass: typeof DurlogError): void
  /**
   * `onProgress` is called on the log's own thread, between two turns of the event loop: counters moved, events
   * wait or room was made.
   */
  open(dir: string, options: NativeOptions, onProgress: () => void): Promise<NativeLog | NativeSharedLog>
  openLogReader(dir: string, fromSeq: number): Promise<NativeLogReader>
  /** Takes the cursor's lock; rejects with ERR_DURLOG_LOCKED. */
  openDurableCursor(dir: string, name: string): Promise<NativeDurableCursor>
  listCursors(dir: string): Promise<NativeCursorSummary[]>
  removeCursor(dir: string, name: string): Promise<void>
  /** What `policy` would trim from a log that another process may have open. */
  planRetention(dir: string, policy: NativeRetentionPolicy): Promise<NativeFolderPlan>
  /** The size of the records `first` to `last`, and the time between the two. Reads both records. */
  measure(dir: string, first: number, last: number): { bytes: number; ms: number }
  /**
   * `own`: this process writes the log. Before each change but an append it lets every call end, calls `forget`,
   * and makes no other until the change is made. Opens nothing.
   */
  pointReader(dir: string, own: boolean): NativePointReader
  /** The folder's first and next seq, without the writer's lock. */
  bounds(dir: string): Promise<NativeBounds>
  /** The cuts of the log since `generation`. */
  cuts(dir: string, generation: number): Promise<NativeCuts>
  /** The page in which the log's writer publishes how far the log may be read; needs no writer. */
  openLivePage(dir: string, onChange: () => void): NativeLivePage
  verify(dir: string): Promise<NativeVerifyReport>
  /** Frames of one segment from `offset` (0: the first); at most `max`. */
  frames(dir: string, segment: string, offset: number, max: number): Promise<NativeFrame[]>
  /**
   * The frames of `segment` from `seq`, whose frame is at `offset` (0: find it), to below `endSeq`, each of them checked; never
   * a part of a batch, and at most `maxBytes` unless the first batch is longer. Ends before the first frame that is not whole.
   */
  extent(
    dir: string,
    segment: string,
    offset: number,
    seq: number,
    endSeq: number,
    maxBytes: number,
  ): Promise<NativeExtent>
  /** Cuts torn tails and holes after copying the bytes into `backup`; a dry run unless `apply`. */
  repair(dir: string, apply: boolean, backup: string): Promise<NativeRepairReport>
  /** Makes file `name` with `text`, which is on the device when this settles. Rejects if it exists. */
  addFile(dir: string, name: string, text: string): Promise<void>
  crc32c(crc: number, data: Uint8Array): number
}

export const native = loadAddon() as Native
native.setErrorClass(DurlogError)
