import { type Command, InvalidArgumentError } from 'commander'
import { type TrimReport, trim } from '../../index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatBytes, formatCounted, formatSeqs, writeJson, writeOut } from '../../terminal/output.js'
import { toAgeMs, toBytes, toTimeMs, toWaitMs } from '../arguments.js'
import { refuseStreams } from '../streams/folder.js'
import { withProgress } from '../with-progress.js'

interface Flags {
  before?: number | Date
  maxBytes?: number
  maxAge?: number
  keepFor?: 'cursors' | 'nothing'
  dryRun?: boolean
  wait: number
  json?: boolean
}

/** Parses a whole number as a seq, and any other text as a time. */
function parseSeqOrTime(text: string): number | Date {
  return /^\d+$/.test(text) ? parseWhole(text) : new Date(toTimeMs(text))
}

function parseKeeper(text: string): string {
  if (text === 'cursors' || text === 'nothing') return text
  throw new InvalidArgumentError('It must be cursors or nothing.')
}

export function register(command: Command): void {
  command
    .description(
      'Remove old records, in whole segments. If a process has the log open for writing, that process removes them, usually within a second. At least one of --before, --max-bytes and --max-age is required.',
    )
    .argument('<dir>', 'the folder of the log')
    .option(
      '--before <seq|time>',
      'remove records before this seq, or before this time (ISO 8601, or how long ago: 2h)',
      parseSeqOrTime,
    )
    .option(
      '--max-bytes <size>',
      'remove the oldest records until the log takes at most this size, including room for the next segment',
      toBytes,
    )
    .option(
      '--max-age <duration>',
      'remove records that are older than this (90s, 15m, 2h, 7d) and that every cursor has passed',
      toAgeMs,
    )
    .option(
      '--keep-for <readers>',
      'cursors or nothing: whether --max-age keeps records that a cursor has not passed (default: cursors)',
      parseKeeper,
    )
    .option('--dry-run', 'change nothing; report what would be removed')
    .option('--wait <duration>', "how long to wait for the log's writer to remove the records", toWaitMs, 10_000)
  addJson(command).action(run)
}

async function run(dir: string, { before, maxBytes, maxAge, keepFor, dryRun, wait, json }: Flags): Promise<void> {
  if (before === undefined && maxBytes === undefined && maxAge === undefined)
    throw new InputError('at least one of --before, --max-bytes and --max-age is required', ExitCode.usage)
  refuseStreams(dir, 'checkpoints trim their log; the option retention of a stream limits its records')
  const interrupted = (): string => "the log's writer may still remove the records"
  const options = { before, maxBytes, maxAgeMs: maxAge, keepFor, dryRun, waitMs: wait }
  const report = await withProgress({ label: 'trim', silent: json === true, interrupted }, () => trim(dir, options))
  if (json) return writeJson(report)
  await writeOut(`${lines(report, dryRun === true).join('\n')}\n`)
}

function lines({ by, firstSeq, before, segments, bytes, overruns }: TrimReport, dryRun: boolean): string[] {
  if (segments === 0) return [`no whole segment to remove; the oldest seq is ${firstSeq}`]
  const what = `${formatCounted(segments, 'segment')}, ${formatBytes(bytes)}`
  const lost = overruns.map(
    ({ cursor, lostFirst, lostLast }) => `the cursor ${cursor} had not read ${formatSeqs(lostFirst, lostLast + 1)}`,
  )
  if (dryRun) return [`would remove ${what}; the oldest seq would be ${before}`, ...lost]
  if (by === 'requested') return [`requested the log's writer to remove ${what}; it has not removed them yet`, ...lost]
  const who = by === 'writer' ? "the log's writer removed" : 'removed'
  return [`${who} ${what}; the oldest seq is now ${firstSeq}`, ...lost]
}
