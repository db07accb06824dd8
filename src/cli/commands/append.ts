import type { Command } from 'commander'
import { open } from '../../index.js'
import { addJson } from '../../terminal/arguments.js'
import { formatCounted, writeSummary } from '../../terminal/output.js'
import { startProgress } from '../../terminal/progress.js'
import { Appender, appendInput } from '../appender.js'
import { LineSplitter, openInput, PrefixSplitter } from '../input.js'
import { addWriterOptions, longestRecord, toOpenOptions, type WriterFlags } from '../writer-flags.js'

interface Flags extends WriterFlags {
  lengthPrefixed?: boolean
  skipEmpty?: boolean
  json?: boolean
}

export function register(program: Command): void {
  const command = program
    .command('append')
    .summary('append records from stdin or a file')
    .description(
      'Append one record for each line of FILE (default: stdin). Ends with 0 only if every record has reached its level.',
    )
    .argument('<dir>', "the log's folder")
    .argument('[file]', 'where records come from; "-" is stdin')
    .option('--length-prefixed', 'each record follows its length: u32, little-endian')
    .option('--skip-empty', 'leave empty lines out')
    .option('--shared', 'write beside other processes that have the log open as shared')
  addJson(addWriterOptions(command)).action(run)
}

async function run(dir: string, file: string | undefined, flags: Flags): Promise<void> {
  const input = await openInput(file)
  const startMs = performance.now()
  await using log = await open(dir, toOpenOptions(flags))
  const progress = await startProgress('append', input.totalBytes, flags.json === true || input.totalBytes === 0)
  const maxBytes = longestRecord(flags)
  const splitter = flags.lengthPrefixed
    ? new PrefixSplitter(maxBytes)
    : new LineSplitter(maxBytes, flags.skipEmpty === true)
  const appender = new Appender(log, flags.durability, flags.segmentBytes)
  try {
    await appendInput(appender, input, splitter, (data) => ({ data }), progress)
  } finally {
    progress.stop()
    await report(appender, flags, performance.now() - startMs)
  }
}

/** What was appended: also where the command goes on to fail. */
async function report({ summary }: Appender, { durability, json }: Flags, elapsedMs: number): Promise<void> {
  const { first, last, records, bytes } = summary
  if (json) {
    const range = records > 0 ? { first, last } : {}
    await writeSummary(
      `${JSON.stringify({ records, bytes, ...range, durability, elapsedMs: Math.round(elapsedMs) })}\n`,
    )
  } else if (records === 0) {
    await writeSummary('appended nothing\n')
  } else {
    const seconds = (elapsedMs / 1000).toFixed(2)
    await writeSummary(
      `appended ${formatCounted(records, 'record')}, seq ${first} to ${last}, at ${durability} in ${seconds} s\n`,
    )
  }
}
