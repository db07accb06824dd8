import type { Command } from 'commander'
import { DurlogError } from '../../errors.js'
import { inspect, type LogSummary, open } from '../../index.js'
import { lastRecord, timeFrom } from '../../ship/voids.js'
import { addJson } from '../../terminal/arguments.js'
import {
  formatBytes,
  formatCount,
  formatCounted,
  formatFields,
  formatSeqs,
  formatTable,
  formatTime,
  writeJson,
  writeOut,
} from '../../terminal/output.js'
import { addTimes, type TimeFlags } from '../arguments.js'

interface Flags extends TimeFlags {
  json?: boolean
}

interface Stat extends LogSummary {
  /** The times of the first and the last record, ISO 8601; null if the log is empty or the record cannot be read. */
  oldest: string | null
  newest: string | null
  /** With --since or --until: the range of the records in that time, with an exclusive end. */
  range?: { firstSeq: number; nextSeq: number }
}

export function register(command: Command): void {
  command
    .description(
      'Show the seqs and times of the records of a log, and its segments. Reads a few records and takes no lock.',
    )
    .argument('<dir>', 'the folder of the log')
  addJson(addTimes(command, 'count records')).action(run)
}

async function run(dir: string, flags: Flags): Promise<void> {
  const stat = await collect(dir, flags)
  await (flags.json ? writeJson(stat) : writeOut(describe(stat)))
}

async function collect(dir: string, { since, until }: Flags): Promise<Stat> {
  await using log = await open(dir, { readOnly: true })
  const summary = await inspect(dir)
  const { firstSeq, nextSeq } = log
  const oldest = await timeOf(() => timeFrom(log, firstSeq))
  const newest = await timeOf(async () => (await lastRecord(log))?.timestamp)
  const stat = { ...summary, oldest, newest }
  if (since === undefined && until === undefined) return stat
  const first = since === undefined ? firstSeq : await log.seqAt(since)
  const next = until === undefined ? nextSeq : await log.seqAt(until)
  return { ...stat, range: { firstSeq: first, nextSeq: Math.max(first, next) } }
}

/** Formats the time that `find` returns; null if there is none, or if the record cannot be read. */
async function timeOf(find: () => number | undefined | Promise<number | undefined>): Promise<string | null> {
  try {
    const timeMs = await find()
    return timeMs === undefined ? null : formatTime(timeMs)
  } catch (error) {
    if (error instanceof DurlogError) return null
    throw error
  }
}

function describe({ dir, uuid, firstSeq, nextSeq, syncedSeq, segments, oldest, newest, range }: Stat): string {
  const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0)
  const allocatedBytes = segments.reduce((sum, segment) => sum + segment.allocatedBytes, 0)
  const count = (first: number, next: number): string =>
    next > first ? `${formatCount(next - first)}, ${formatSeqs(first, next)}` : 'none'
  const fields = formatFields([
    ['log', dir],
    ['uuid', uuid],
    ['records', count(firstSeq, nextSeq)],
    ...(range === undefined ? [] : [['in this time', count(range.firstSeq, range.nextSeq)] as const]),
    ['oldest', oldest ?? 'unknown'],
    ['newest', newest ?? 'unknown'],
    ['next seq', nextSeq],
    ['synced up to', syncedSeq === -1 ? 'none known' : syncedSeq],
    [
      'size',
      `${formatBytes(bytes)} in ${formatCounted(segments.length, 'segment')}, ${formatBytes(allocatedBytes)} on the device`,
    ],
  ])
  const rows = segments.map(({ name, firstSeq, bytes, allocatedBytes }) => [
    name,
    String(firstSeq),
    formatBytes(bytes),
    formatBytes(allocatedBytes),
  ])
  return fields + formatTable(['segment', 'first seq', 'size', 'on the device'], rows)
}
