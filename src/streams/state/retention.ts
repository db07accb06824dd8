/**
 * Plans the files of a stream with retention: a checkpoint divides new records into files, and drops whole files from
 * the beginning.
 *
 * Only the records decide where a file begins; the time of the checkpoint has no effect. So after a checkpoint that did
 * not end, the next one plans the same files, and writes them again or removes them.
 */

import { nextTurn } from '../../timers.js'
import type { StreamLimits } from '../port/types.js'
import { EMPTY } from './entry.js'
import type { MemTable } from './mem-table.js'
import type { FileDisk, StreamDisk, StreamState } from './state.js'

/** A file is full at this fraction of a limit. So up to this fraction more than the limit is kept. */
const PARTS = 8
/**
 * `maxRecords` begins no new file before the newest one has this many records: for fewer, its block and its catalog
 * entry would take more space than the records.
 */
const MIN_FILE_RECORDS = 16
/**
 * New files become twice as large each time the stream has this many files more. A stream gets so many only while it
 * has forks, because its files are not dropped then.
 */
const FILES_OF_A_SIZE = 1024
/** To plan so many records takes less than a millisecond. */
const PLANNED_AT_ONCE = 2048

/** A file of the stream, and the positions of the records to add to it. */
export interface PlannedFile {
  disk: FileDisk
  positions: number[]
  /** The length of the file with the records to add, without the spaces that fill up pages. */
  bytes: number
  times: FileDisk['times']
}

/**
 * Plans the files of the stream, the oldest first, after the records at `positions` were added. Pauses for the event
 * loop.
 */
export async function planFiles(
  { meta, disk }: StreamState,
  positions: Float64Array,
  memTable: MemTable,
): Promise<PlannedFile[]> {
  const files = storedFiles(disk)
  for (let at = 0; at < positions.length; at += PLANNED_AT_ONCE) {
    if (at > 0) await nextTurn()
    addRecords(files, positions.subarray(at, at + PLANNED_AT_ONCE), meta.retention as StreamLimits, memTable)
  }
  return files
}

/** The files that the last checkpoint has stored, the oldest first. */
function storedFiles({ older = [], first, next, bytes, crc, index, times }: StreamDisk): PlannedFile[] {
  return [...older, { first, next, bytes, crc, index, times }].map(planned)
}

/** Divides the records at `positions`, which follow those of `files`, into files. */
function addRecords(files: PlannedFile[], positions: Float64Array, limits: StreamLimits, memTable: MemTable): void {
  let newest = files.at(-1) as PlannedFile
  for (const position of positions) {
    const timeMs = memTable.timeAt(position)
    if (isFull(newest, limits, timeMs, 2 ** Math.floor(files.length / FILES_OF_A_SIZE))) {
      newest = planned(emptyFile(nextOf(newest)))
      files.push(newest)
    }
    newest.positions.push(position)
    newest.bytes += memTable.lengthAt(position) + 1
    const [firstMs, lastMs] = newest.times ?? [timeMs, timeMs]
    newest.times = [firstMs, Math.max(lastMs, timeMs)]
  }
}

function planned(disk: FileDisk): PlannedFile {
  return { disk, positions: [], bytes: disk.bytes, times: disk.times }
}

function nextOf({ disk, positions }: PlannedFile): number {
  return disk.next + positions.length
}

/**
 * Whether a record with the time `timeMs` begins a new file. `scale` is the factor by which files are larger than
 * usual.
 */
function isFull(file: PlannedFile, limits: StreamLimits, timeMs: number, scale: number): boolean {
  if (file.times === undefined) return false
  const { maxRecords, maxBytes, maxAgeMs } = limits
  const [firstMs, lastMs] = file.times
  const records = nextOf(file) - file.disk.first
  const part = scale / PARTS
  return (
    (maxRecords !== undefined && records >= Math.max(maxRecords * part, MIN_FILE_RECORDS * scale)) ||
    (maxBytes !== undefined && file.bytes >= maxBytes * part) ||
    // A time that is much earlier follows those of a clock that was ahead.
    (maxAgeMs !== undefined && Math.max(timeMs - firstMs, lastMs - timeMs) >= maxAgeMs * part)
  )
}

/**
 * Removes the files that are beyond a limit from the beginning of `files`, and returns them. At least one file remains;
 * it may be empty.
 */
export function dropFiles(files: PlannedFile[], limits: StreamLimits, nowMs: number): PlannedFile[] {
  const { maxRecords = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY, maxAgeMs } = limits
  let dropped = maxAgeMs === undefined ? 0 : oldFiles(files, maxAgeMs, nowMs)
  let [records, bytes] = [0, 0]
  for (let at = files.length - 1; at >= dropped; at--) {
    if (records >= maxRecords || bytes >= maxBytes) dropped = at + 1
    const file = files[at] as PlannedFile
    records += nextOf(file) - file.disk.first
    bytes += file.bytes
  }
  if (dropped === files.length) files.push(planned(emptyFile(nextOf(files.at(-1) as PlannedFile))))
  return files.splice(0, dropped)
}

/**
 * The number of files whose records are all older than `maxAgeMs`. The records in a file with a time in the future were
 * written under a clock that was ahead: they are older than those in the next files.
 */
function oldFiles(files: readonly Pick<FileDisk, 'times'>[], maxAgeMs: number, nowMs: number): number {
  let old = 0
  for (const [at, { times }] of files.entries()) {
    if (times === undefined) break
    if (times[1] < nowMs - maxAgeMs) old = at + 1
    else if (times[1] <= nowMs) break
  }
  return old
}

/** Whether a checkpoint would drop a file of the stream because of its age. */
export function hasOldFile({ meta, disk, forks }: StreamState, nowMs: number): boolean {
  const maxAgeMs = meta.retention?.maxAgeMs
  return maxAgeMs !== undefined && forks === 0 && oldFiles([...(disk.older ?? []), disk], maxAgeMs, nowMs) > 0
}

function emptyFile(first: number): FileDisk {
  return { first, next: first, bytes: 0, crc: 0, index: EMPTY, times: undefined }
}

/** The names of all files that a deleted stream may have, also of files from a checkpoint that did not end. */
export async function allFiles(state: StreamState, memTable: MemTable): Promise<Set<string>> {
  const { unflushed, meta } = state
  const positions = unflushed.first(unflushed.length)
  return namesOf(state, meta.retention === undefined ? [] : await planFiles(state, positions, memTable))
}

/** As `allFiles`, in this turn of the event loop. */
export function allFilesNow(state: StreamState, memTable: MemTable): Set<string> {
  const { unflushed, meta, disk } = state
  if (meta.retention === undefined) return namesOf(state, [])
  const files = storedFiles(disk)
  addRecords(files, unflushed.first(unflushed.length), meta.retention, memTable)
  return namesOf(state, files)
}

function namesOf(state: StreamState, files: readonly PlannedFile[]): Set<string> {
  // `disk.next` is the first seq of the file with which a repair continues the stream if the newest file is lost.
  const firsts = [...files.map(({ disk }) => disk.first), state.disk.next]
  return new Set([...firsts.map((first) => state.fileName(first)), ...leftFiles(state)])
}

/**
 * The names of files that do not belong to the stream any more: files that it has dropped, and files of deleted streams
 * of the same name.
 */
export function leftFiles(state: StreamState): string[] {
  const { dropped = [] } = state.disk
  return [...dropped.map((first) => state.fileName(first)), ...state.replaces]
}
