import type { ReadableLog } from '../index.js'
import { recordCrc } from '../ship/record-crc.js'
import { crcIn, type Located } from './stream-seqs.js'

/** Whether `last`, the last message of the stream, is of the copy with this `id`, which holds `log`. */
export async function isOwn(log: ReadableLog, id: string, last: Located): Promise<boolean> {
  const { claimedBy, generation, seq } = last.part
  // An older copy of the writer's folder has its id.
  if (generation > log.generation) return false
  if (claimedBy !== undefined) return claimedBy === id
  if (seq >= log.nextSeq) return false
  if (generation < log.generation || seq < log.firstSeq) return true
  // A former writer that was truncated may have the generation of its successor.
  return holdsLastOf(log, last)
}

/** Whether `log`, which has a record of this seq, holds the last record of a message, or the record of a claim. */
export async function holdsLastOf(log: ReadableLog, found: Located): Promise<boolean> {
  const { seq } = found.part
  const { data, timestamp } = await log.get(seq)
  return crcIn(found, seq) === recordCrc(log.uuid, seq, timestamp, data)
}
