/** Iterates over the records of all streams in the order of their positions, by reading the main log. */
import type { DurableCursor, Log } from '../../index.js'
import { TimeSlice } from '../../support/time-slice.js'
import type { StreamCodec } from '../port/encoding.js'
import type { Batches, ReadBounds } from '../port/port.js'
import type { CommittedRecord, StreamEncoding } from '../port/types.js'
import { decodeEntry, EntryKind } from '../state/entry.js'
import type { StreamTable } from '../state/table.js'

export interface ReadAllFolder {
  readonly table: StreamTable
  readonly folder: { log: Log }
  /** Whether every record that readers may see is synced. */
  readonly isSynced: boolean
  /** Throws ERR_DURLOG_CLOSED if the folder is closed. */
  checkOpen(): void
}

/** With `cursor`, begins at its position, and fails if records that it has delivered are cut from the log. */
export async function* readAll(
  folder: ReadAllFolder,
  { from, to, untilMs = Number.POSITIVE_INFINITY, follow, durableOnly }: ReadBounds,
  codecOf: (encoding: StreamEncoding) => StreamCodec,
  signal: AbortSignal,
  cursor?: DurableCursor,
): Batches<CommittedRecord<unknown>> {
  folder.checkOpen()
  const slice = new TimeSlice()
  const range = { to, follow, durableOnly: durableOnly || folder.isSynced, signal }
  await using reader = cursor?.read(range) ?? folder.folder.log.read({ from, ...range })
  for await (const batch of reader.batches()) {
    let records: CommittedRecord<unknown>[] = []
    for (const { seq: position, data } of batch) {
      if (slice.isOver()) {
        if (records.length > 0) yield records
        records = []
        await slice.nextTurn()
      }
      const { kind, stream, seq, timeMs, encoding, bytes, valueAt } = decodeEntry(data, position)
      if (kind !== EntryKind.append || folder.table.voids.has(position)) continue
      if (timeMs >= untilMs) {
        if (records.length > 0) yield records
        return
      }
      const value = codecOf(encoding).decode(bytes.subarray(valueAt))
      records.push({ stream, seq, value, timestamp: timeMs, position })
    }
    if (records.length > 0) yield records
  }
}
