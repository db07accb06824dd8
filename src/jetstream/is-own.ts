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
  const { data, timestamp } = await log.get(seq)
  return crcIn(last, seq) === recordCrc(log.uuid, seq, timestamp, data)
}
