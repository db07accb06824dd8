import type { Command } from 'commander'
import { open, type ReadOnlyLog } from '../../index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { addTimes, type TimeFlags } from '../arguments.js'
import { followByName } from '../follow-by-name.js'
import { type PrintOptions, printRecords } from '../print.js'

const DEFAULT_LINES = 10

interface Flags extends TimeFlags {
  lines?: number
  follow?: boolean
  followByName?: boolean
  cursor?: string
  times?: boolean
  json?: boolean
}

export function register(command: Command): void {
  command
    .description('Print the last records as they are, each followed by a newline. Takes no lock.')
    .argument('<dir>', 'the folder of the log')
    .option('-n, --lines <count>', 'the number of records (default: 10; with --since all)', parseWhole)
    .option('-f, --follow', 'wait for new records and print them')
    .option('-F, --follow-by-name', 'as -f; also wait until the log exists, and continue with a new log in that folder')
    .option(
      '--cursor <name>',
      'print the records after the position of this cursor, and commit each one once it is written; creates the cursor',
    )
  addTimes(command).option('-t, --times', 'print the time and a tab before each record')
  addJson(command).action(run)
}

function checkFlags({ lines, since, until, followByName, cursor }: Flags): void {
  const problem =
    cursor !== undefined && (lines !== undefined || since !== undefined)
      ? '--cursor begins at the position of the cursor: omit --lines and --since'
      : cursor !== undefined && followByName
        ? '--cursor belongs to one log: use -f instead of -F'
        : followByName && until !== undefined
          ? '-F has no end: omit --until'
          : ''
  if (problem !== '') throw new InputError(problem, ExitCode.usage)
}

async function run(dir: string, flags: Flags): Promise<void> {
  checkFlags(flags)
  const { follow, times, json } = flags
  const format = { json: json === true, lengthPrefixed: false, times: times === true }
  const options = { format, follow: follow === true || flags.followByName === true }
  if (flags.followByName) return followByName(dir, options, (log) => firstSeq(log, flags))
  await using log = await open(dir, { readOnly: true })
  if (flags.cursor !== undefined) return await readCursor(log, flags.cursor, flags, options)
  const { since, until } = flags
  await printRecords(log.read({ from: await firstSeq(log, flags), since, until, follow }), options)
}

/** The first record to print. */
async function firstSeq(log: ReadOnlyLog, { lines, since, until }: Flags): Promise<number> {
  const end = until === undefined ? log.nextSeq : await log.seqAt(until)
  const count = lines ?? (since === undefined ? DEFAULT_LINES : end)
  const first = Math.max(log.firstSeq, end - count)
  return since === undefined ? first : Math.max(first, await log.seqAt(since))
}

async function readCursor(
  log: ReadOnlyLog,
  name: string,
  { until, follow }: Flags,
  options: PrintOptions,
): Promise<void> {
  await using cursor = await log.cursor(name)
  const onWritten = (seq: number): Promise<void> => cursor.commit(seq)
  await printRecords(cursor.read({ until, follow }), { ...options, onWritten })
}
