import { type Command, InvalidArgumentError } from 'commander'
import { type TrimReport, trim } from '../../index.js'
import { addJson, parseAge, parseBytes, parseMillis, parseTime, parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { formatBytes, formatCounted, writeJson, writeOut } from '../../terminal/output.js'

interface Flags {
  before?: number | Date
  maxBytes?: number
  maxAge?: number
  keepFor?: 'cursors' | 'nothing'
  dryRun?: boolean
  wait: number
  json?: boolean
}

/** A whole number is a seq, anything else a time. */
function parseSeqOrTime(text: string): number | Date {
  return /^\d+$/.test(text) ? parseWhole(text) : new Date(parseTime(text))
}

function parseKeeper(text: string): string {
  if (text === 'cursors' || text === 'nothing') return text
  throw new InvalidArgumentError('It must be cursors or nothing.')
}

export function register(program: Command): void {
  const command = program
    .command('trim')
    .summary('remove old segments')
    .description(
      'Remove old records, in whole segments, also while a service has the log open: its writer is asked, and does it within a second. At least one of --before, --max-bytes and --max-age.',
    )
    .argument('<dir>', "the log's folder")
    .option(
      '--before <seq|time>',
      'the oldest record to keep, or a time (ISO 8601, or how long ago: 2h)',
      parseSeqOrTime,
    )
    .option('--max-bytes <bytes>', 'as much as the log may take, with room for what comes next', parseBytes)
    .option(
      '--max-age <age>',
      'records that are older go (90s, 15m, 2h, 7d), if every cursor has passed them',
      parseAge,
    )
    .option(
      '--keep-for <whom>',
      'cursors or nothing: whether --max-age keeps what cursors have still to read',
      parseKeeper,
    )
    .option('--dry-run', 'change nothing, tell what would go')
    .option('--wait <ms>', 'how long to wait for the writer', parseMillis, 10_000)
  addJson(command).action(run)
}

async function run(dir: string, { before, maxBytes, maxAge, keepFor, dryRun, wait, json }: Flags): Promise<void> {
  if (before === undefined && maxBytes === undefined && maxAge === undefined)
    throw new InputError('--before, --max-bytes or --max-age says what goes', ExitCode.usage)
  const report = await trim(dir, { before, maxBytes, maxAgeMs: maxAge, keepFor, dryRun, waitMs: wait })
  if (json) return writeJson(report)
  await writeOut(`${lines(report, dryRun === true).join('\n')}\n`)
}

function lines({ by, firstSeq, before, segments, bytes, overruns }: TrimReport, dryRun: boolean): string[] {
  if (segments === 0) return [`nothing to remove; the oldest record is ${firstSeq}`]
  const what = `${formatCounted(segments, 'segment')}, ${formatBytes(bytes)}`
  const lost = overruns.map(
    ({ cursor, lostFirst, lostLast }) => `the cursor ${cursor} had still to read ${lostFirst} to ${lostLast} of it`,
  )
  if (dryRun) return [`would remove ${what}; the oldest record would be ${before}`, ...lost]
  if (by === 'requested') return [`asked the log's writer to remove ${what}; it has not done so yet`, ...lost]
  const who = by === 'writer' ? "the log's writer removed" : 'removed'
  return [`${who} ${what}; the oldest record is now ${firstSeq}`, ...lost]
}
