/** The addon's typed interface. No other module but binary.ts knows how the addon is loaded. */
import { DurlogError } from '../errors.js'
import { loadAddon } from './binary.js'
import type { NativeCursorSummary, NativeCuts, NativeDurableCursor, NativeFileLock } from './cursors.js'
import type { NativeExtent, NativeFrame, NativeRepairReport, NativeVerifyReport } from './inspection.js'
import type { NativeJson } from './json.js'
import type { NativeFolderPlan, NativeLog, NativeOptions, NativeRetentionPolicy, NativeSharedLog } from './log.js'
import type { NativeBounds, NativeLivePage, NativeLogReader, NativePointReader } from './reading.js'
import type { NativeStreamFiles } from './stream-files.js'

export interface Native extends NativeJson {
  openStreamFiles(records: string, index: string): Promise<NativeStreamFiles>
  setErrorClass(errorClass: typeof DurlogError): void
  /**
   * Opens a log for writing. `onProgress` is called on the calling thread, between two turns of the event loop, after
   * counters have changed, events were queued, or room became available.
   */
  open(dir: string, options: NativeOptions, onProgress: () => void): Promise<NativeLog | NativeSharedLog>
  /** Rejects with ERR_DURLOG_NOT_A_LOG if `dir` holds another log than `uuid`. */
  openLogReader(dir: string, fromSeq: number, uuid: string): Promise<NativeLogReader>
  /** Takes the cursor's lock. Rejects with ERR_DURLOG_LOCKED if another owner has it, otherwise as `openLogReader`. */
  openDurableCursor(dir: string, name: string, uuid: string): Promise<NativeDurableCursor>
  listCursors(dir: string): Promise<NativeCursorSummary[]>
  removeCursor(dir: string, name: string): Promise<void>
  /** Plans what `policy` would trim from a log that another process may have open. */
  planRetention(dir: string, policy: NativeRetentionPolicy): Promise<NativeFolderPlan>
  /**
   * Takes the lock of trims that honour cursors. Rejects with ERR_DURLOG_LOCKED if another process or thread holds it.
   */
  lockTrims(dir: string): Promise<NativeFileLock>
  /** Takes the lock of writers, without opening the log. Rejects with ERR_DURLOG_LOCKED if another owner has it. */
  lockLog(dir: string): Promise<NativeFileLock>
  /** Rejects with ERR_DURLOG_LOCKED while the lock of trims is held. */
  checkTrims(dir: string): Promise<void>
  /**
   * The size of the frames of the records `first` to `last`, and the time between these two records. Reads both of
   * them.
   */
  measure(dir: string, first: number, last: number): { bytes: number; ms: number }
  /**
   * Makes a reader of single records; opens no file. With `own`, only this process writes the log. Then, before each
   * change other than an append, the caller must wait until every read has ended and call `forget`, and must not read
   * again until the change has ended.
   */
  pointReader(dir: string, own: boolean, uuid: string): NativePointReader
  /** Reads the log's bounds from its files, without the writer's lock. */
  bounds(dir: string): Promise<NativeBounds>
  /** Whether a process, this one or another, has the log open for writing. */
  hasWriter(dir: string): Promise<boolean>
  /** The cuts of the log since `generation`. */
  cuts(dir: string, generation: number): Promise<NativeCuts>
  /**
   * Opens the live page, in which the log's writer publishes the ends up to which readers may read. Works without a
   * writer.
   */
  openLivePage(dir: string, onChange: () => void): NativeLivePage
  verify(dir: string): Promise<NativeVerifyReport>
  /** At most `max` frames of one segment, from the frame at `offset` on (0: the first frame). */
  frames(dir: string, segment: string, offset: number, max: number): Promise<NativeFrame[]>
  /**
   * Finds the frames of `segment` from `seq` to below `endSeq`, and checks each of them. `offset` is the offset of the
   * frame of `seq` (0: search for it). The extent ends before the first frame that is not whole, contains only whole
   * batches, and has at most `maxBytes` unless its first batch is longer.
   */
  extent(
    dir: string,
    segment: string,
    offset: number,
    seq: number,
    endSeq: number,
    maxBytes: number,
  ): Promise<NativeExtent>
  /** Copies the bytes of torn tails and holes into `backup`, then cuts them. Only reports unless `apply` is true. */
  repair(dir: string, apply: boolean, backup: string): Promise<NativeRepairReport>
  /**
   * Creates the file `name` with the content `text`. Resolves once both are on the device. Rejects if the file exists.
   */
  addFile(dir: string, name: string, text: string): Promise<void>
  /**
   * Makes `lines` durable, which readers see from the offset `from` to the end of the file of a stream, and fills the
   * last page with spaces. Readers see the same lines all the time. Resolves to false if the file system has no direct
   * I/O.
   */
  writeLinesAgain(dir: string, name: string, from: number, lines: Uint8Array): Promise<boolean>
  /** The names in the folder `dir` that begin with `prefix`. */
  names(dir: string, prefix: string): Promise<string[]>
  /** Whether a write to the pipe or socket `fd` would fail, because its reader has closed it. False on Windows. */
  hasNoReader(fd: number): boolean
  /** The core's error for an errno of the system: its code, and a message with the reason and the remedy. */
  errorOfErrno(errno: number): DurlogError
  crc32c(crc: number, data: Uint8Array): number
}

export const native = loadAddon() as Native
native.setErrorClass(DurlogError)
