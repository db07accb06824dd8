/** Iterates over the records of one stream, or of all streams. */
import { DurlogError } from '../../errors.js'
import type { DurableCursor, Log, LogRecord } from '../../index.js'
import { onAbort } from '../../options/abort-signal.js'
import { TimeSlice } from '../../support/time-slice.js'
import { RecordSource, removedStream } from '../files/record-source.js'
import type { StreamCodec } from '../port/encoding.js'
import type { AllBounds, Batches, ReadBounds } from '../port/port.js'
import type { StreamEncoding, StreamRecord } from '../port/types.js'
import { noSuchStream } from '../state/decide.js'
import { decodeEntry, type Entry, EntryKind } from '../state/entry.js'
import type { StreamState } from '../state/state.js'
import type { StreamStore } from './store.js'

/** With `created`, the stream must be the one that the entry at this position created. */
export type StreamRange = ReadBounds & { created?: number | undefined }

/** Runs one read of records, perhaps later. */
export type ReadInTurn = <T>(read: () => Promise<T>) => Promise<T>

const AT_ONCE: ReadInTurn = (read) => read()

/** Reads from the stream's files up to the last checkpoint, then from memory. */
export async function* readStream(
  folder: StreamStore,
  name: string,
  { from, to = Number.POSITIVE_INFINITY, untilMs, follow, durableOnly, created: original }: StreamRange,
  codecOf: (encoding: StreamEncoding) => StreamCodec,
  signal: AbortSignal,
  inTurn: ReadInTurn = AT_ONCE,
): Batches<StreamRecord<unknown>> {
  const records = new RecordSource<unknown>(folder.folder, () => folder.table, codecOf)
  const limitOf = durableOnly && !folder.isSynced ? syncedEnd(folder.folder.log) : visibleEnd
  let slice = new TimeSlice()
  let next = from
  let created = original
  const isDeleting = (): boolean => folder.table.isDeleting(name)
  /** The seq before which the iteration finishes. */
  let end = follow ? to : undefined
  /** Ends the wait for a change. */
  let wake = (): void => {}
  // Once for all waits, because each of them would take longer than the record that ends it.
  const forgetSignal = onAbort(signal, () => wake())
  try {
    for (;;) {
      // Records in memory are read without a turn of the event loop.
      if (slice.isSpent) await slice.nextTurn()
      signal.throwIfAborted()
      folder.checkOpen()
      const state = folder.visible(name)
      if (state !== undefined) {
        state.use()
        created ??= state.created
        const limit = limitOf(state)
        end ??= Math.min(limit, to)
        // A negative `from` counts from the end of the stream.
        if (next !== undefined && next < 0) next = Math.max(state.firstSeq, Math.min(limit, to) + next)
        next ??= state.firstSeq
        if (created !== state.created) throw removedStream(name)
        if (next >= end && (follow || next <= state.visible)) return
        let read: StreamRecord<unknown>[] = []
        const seq = next
        try {
          // The stream may have been deleted before the read's turn.
          read = await inTurn(() => (folder.visible(name) === state ? records.next(state, seq) : Promise.resolve([])))
        } catch (error) {
          if (!isDeleting()) throw error
        }
        const late = untilMs === undefined ? -1 : read.findIndex(({ timestamp }) => timestamp >= untilMs)
        const count = Math.min(limit, end) - next
        const found = read.slice(0, Math.max(late === -1 ? count : Math.min(late, count), 0))
        next += found.length
        if (found.length > 0) yield found
        if (late !== -1 && found.length === late) return
        signal.throwIfAborted()
        if (next < Math.min(limitOf(state), end)) continue
        if ((state.endVisible && next >= state.visible) || !follow) return checkStart(state, next)
      } else if (!isDeleting()) {
        if (created !== undefined) throw removedStream(name)
        if (!follow) throw noSuchStream(name)
        if (next !== undefined && next < 0) next = undefined
      }
      // The stream may have changed while the file was read. Nothing is awaited between this check and the wait, so no
      // change is missed.
      const now = folder.visible(name)
      const isAtEnd = now === undefined || (next ?? 0) >= limitOf(now)
      const hasEnded = now?.endVisible === true && (next ?? 0) >= now.visible
      if (now !== state || !isAtEnd || hasEnded) continue
      if (limitOf !== visibleEnd) folder.table.awaitSync(name)
      await new Promise<void>((resolve) => {
        const forgetChange = folder.table.onChange(name, resolve)
        wake = () => {
          forgetChange()
          resolve()
        }
      })
      slice = new TimeSlice()
    }
  } catch (error) {
    const isFile = (error as DurlogError).code === 'ERR_DURLOG_STREAM_CHANGED'
    throw isFile && folder.visible(name)?.created !== created ? removedStream(name) : error
  } finally {
    forgetSignal()
    await records.close()
  }
}

function visibleEnd({ visible }: StreamState): number {
  return visible
}

/** Returns the function that finds the seq of a stream before which every record is synced. */
function syncedEnd(log: Log): (state: StreamState) => number {
  return ({ created, start, disk, unflushed, visible }) => {
    const { syncedSeq } = log
    // Every record of a fork's source was appended before the fork was created.
    if (disk.next === start && syncedSeq < created) return 0
    let [low, high] = [0, unflushed.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (unflushed.at(middle) <= syncedSeq) low = middle + 1
      else high = middle
    }
    return Math.min(disk.next + low, visible)
  }
}

/** Throws if the reader's `from` is beyond the last record. */
function checkStart(state: StreamState, next: number): void {
  if (next > state.visible)
    throw new DurlogError(
      'ERR_DURLOG_OUT_OF_RANGE',
      `the stream "${state.name}" has no record ${next} yet (its next seq is ${state.visible}): use follow: true (durlog streams DIR tail NAME) to wait for it`,
    )
}

/**
 * Iterates over the records of all streams in the order of their positions, by reading the main log. With `cursor`,
 * begins at its position, and fails if records that it has delivered are cut from the log.
 */
export async function* readAll<T>(
  folder: StreamStore,
  { from, to, untilMs = Number.POSITIVE_INFINITY, follow, durableOnly }: AllBounds,
  toRecord: (entry: LogRecord, decoded: Entry) => T,
  signal: AbortSignal,
  cursor?: DurableCursor,
): Batches<T> {
  folder.checkOpen()
  const slice = new TimeSlice()
  const range = { to, follow, durableOnly: durableOnly || folder.isSynced, signal }
  const { log } = folder.folder
  await using reader = cursor?.read(range) ?? log.read({ from: await firstOf(log, from), ...range })
  for await (const batch of reader.batches()) {
    let records: T[] = []
    for (const entry of batch) {
      if (slice.isOver()) {
        if (records.length > 0) yield records
        records = []
        await slice.nextTurn()
      }
      const decoded = decodeEntry(entry.data, entry.seq)
      if (decoded.kind !== EntryKind.append || folder.table.voids.has(entry.seq)) continue
      if (decoded.timeMs >= untilMs) {
        if (records.length > 0) yield records
        return
      }
      records.push(toRecord(entry, decoded))
    }
    if (records.length > 0) yield records
  }
}

/** The position at which to begin. Throws if `from` is the position of a record that the log does not hold. */
async function firstOf(log: Log, from: AllBounds['from']): Promise<number | undefined> {
  if (typeof from !== 'object') return from
  if (await log.isCurrent(from)) return from.seq + 1
  throw new DurlogError(
    'ERR_DURLOG_CURSOR_CUT',
    `the main log in ${log.dir} does not hold the record at the position ${from.seq} that was saved: it is of another folder, it was cut, or an older copy of the folder was put back. Undo or keep the effects of the records up to that position, then read from the oldest record`,
  )
}
