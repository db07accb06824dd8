/**
 * Plans the files of a stream with retention: a checkpoint divides new records into files, and drops whole files from
 * the beginning.
 *
 * Only the records decide where a file begins; the time of the checkpoint has no effect. So after a checkpoint that did
 * not end, the next one plans the same files, and writes them again or removes them.
 */

import { TimeSlice } from '../../support/time-slice.js'
import type { StreamLimits } from '../port/types.js'
import { EMPTY } from './entry.js'
import type { MemTable } from './mem-table.js'
import type { FileDisk, StreamState } from './state.js'

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
  const { older = [], first, next, bytes, crc, index, times } = disk
  let newest = planned({ first, next, bytes, crc, index, times })
  const files = [...older.map(planned), newest]
  const slice = new TimeSlice()
  for (const position of positions) {
    if (slice.isOver()) await slice.nextTurn()
    const timeMs = memTable.timeAt(position)
    if (isFull(newest, meta.retention as StreamLimits, timeMs, 2 ** Math.floor(files.length / FILES_OF_A_SIZE))) {
      newest = planned(emptyFile(nextOf(newest)))
      files.push(newest)
    }
    newest.positions.push(position)
    newest.bytes += memTable.lengthAt(position) + 1
    const [firstMs, lastMs] = newest.times ?? [timeMs, timeMs]
    newest.times = [firstMs, Math.max(lastMs, timeMs)]
  }
  return files
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
  const names = await leftFiles(state, memTable)
  await addFiles(names, state, memTable)
  return names
}

/**
 * The names of files that do not belong to the stream any more: files that it has dropped, and files that deleted
 * streams of the same name may have.
 */
export async function leftFiles(state: StreamState, memTable: MemTable): Promise<Set<string>> {
  const names = new Set<string>()
  const slice = new TimeSlice()
  // A loop, because a name may be used again many times before a checkpoint.
  for (let at: StreamState | undefined = state; at !== undefined; at = at.replaced) {
    if (slice.isOver()) await slice.nextTurn()
    if (at !== state) await addFiles(names, at, memTable)
    for (const first of at.disk.dropped ?? []) names.add(at.fileName(first))
  }
  return names
}

async function addFiles(names: Set<string>, state: StreamState, memTable: MemTable): Promise<void> {
  const { meta, unflushed, disk } = state
  const files = meta.retention === undefined ? [] : await planFiles(state, unflushed.first(unflushed.length), memTable)
  for (const file of files) names.add(state.fileName(file.disk.first))
  // The file with which a repair continues the stream if the newest one is lost.
  names.add(state.fileName(disk.next))
}
