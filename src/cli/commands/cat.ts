import type { Command } from 'commander'
import { open } from '../../index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { addTimes, type TimeFlags } from '../arguments.js'
import { gapReporter, printAll, printRecords } from '../print.js'

interface Flags extends TimeFlags {
  from?: number
  to?: number
  follow?: boolean
  durableOnly?: boolean
  salvage?: boolean
  times?: boolean
  lengthPrefixed?: boolean
  json?: boolean
}

export function register(command: Command): void {
  command
    .description('Print records as they are, each followed by a newline. Takes no lock.')
    .argument('<dir>', 'the folder of the log')
    .option('--from <seq>', 'the first record (default: the oldest)', parseWhole)
    .option('--to <seq>', 'end before this record (default: the end of the log)', parseWhole)
  addTimes(command)
    .option('-t, --times', 'print the time and a tab before each record; with --json, print times as ISO 8601')
    .option('-f, --follow', 'wait for new records and print them')
    .option('--durable-only', 'print only records that are known to be synced')
    .option('--length-prefixed', 'print the length (u32, little-endian) before each record, and no newline')
    .option('--salvage', 'skip damaged records, report them on stderr and exit with 2')
  addJson(command).action(run)
}

async function run(dir: string, flags: Flags): Promise<void> {
  const { from, to, since, until, follow, durableOnly, salvage, times, lengthPrefixed, json } = flags
  if (times && lengthPrefixed) throw new InputError('--times cannot be combined with --length-prefixed', ExitCode.usage)
  await using log = await open(dir, { readOnly: true })
  const format = { json: json === true, lengthPrefixed: lengthPrefixed === true, times: times === true }
  const onGap = gapReporter(format.json)
  const reader = log.read({ from, to, since, until, follow, durableOnly, salvage, onGap })
  if (follow) return await printRecords(reader, { format, follow: true })
  const first = from ?? (since === undefined ? log.firstSeq : await log.seqAt(since))
  await printAll(reader, format, first, to ?? log.nextSeq)
}
