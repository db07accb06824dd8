import type { Command } from 'commander'
import { openOrdered } from '../../open.js'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { appendInput, type NewRecord } from '../appender.js'
import { InputLines, openInput, PrefixSplitter } from '../input.js'
import { parseJsonLine, timeIn } from '../records.js'
import { reportRecovery } from '../reports.js'
import { refuseStreams } from '../streams/folder.js'
import { addWriterOptions, longestRecord, toOpenOptions, type WriterFlags } from '../writer-flags.js'

interface Flags extends WriterFlags {
  lengthPrefixed?: boolean
  timeField?: string
  json?: boolean
}

export function register(command: Command): void {
  command
    .description(
      'Append each line of FILE (default: stdin) as one record. Blank lines are skipped. The exit status is 0 only if every record has reached its level.',
    )
    .argument('<dir>', 'the folder of the log; created if it does not exist')
    .argument('[file]', 'the file to read; "-" is stdin')
    .option('--length-prefixed', 'read records that each follow their length (u32, little-endian), instead of lines')
    .option(
      '--time-field <name>',
      'take the time of each record, a JSON object, from this member (ISO 8601, or milliseconds since 1970)',
    )
    .option('--salvage', 'append even to a damaged log: its damaged records stay lost, and no seq is reused')
  addJson(addWriterOptions(command)).action(run)
}

async function run(dir: string, file: string | undefined, flags: Flags): Promise<void> {
  const { durability, lengthPrefixed, timeField, salvage, shared, json } = flags
  if (salvage && shared)
    throw new InputError('--salvage needs exclusive access to the log: omit --shared', ExitCode.usage)
  refuseStreams(dir, 'use "durlog streams DIR append NAME"')
  await using input = await openInput(file)
  const startMs = performance.now()
  await using log = await openOrdered(dir, toOpenOptions(flags))
  reportRecovery(log, json === true)
  const maxBytes = longestRecord(flags)
  const splitter = lengthPrefixed ? new PrefixSplitter(maxBytes) : new InputLines(maxBytes)
  const toRecord = (data: Buffer, place: string): NewRecord =>
    timeField === undefined ? { data } : { data, timestamp: timeIn(parseJsonLine(data, place), timeField, place) }
  await appendInput(async () => ({ log }), toRecord, input, splitter, { command: 'append', durability, json, startMs })
}
