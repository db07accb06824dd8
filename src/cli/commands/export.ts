import { type Command, Option } from 'commander'
import { open } from '../../index.js'
import { addJson, addTimes, parseWhole, type TimeFlags } from '../../terminal/arguments.js'
import { Sink, writeOut } from '../../terminal/output.js'
import { startProgress } from '../../terminal/progress.js'
import type { LogRecord } from '../../types.js'
import { gapReporter } from '../print.js'
import { EXPORT_ENCODINGS, type ExportEncoding, toJsonLine } from '../records.js'

interface Flags extends TimeFlags {
  encoding: ExportEncoding
  from?: number
  to?: number
  salvage?: boolean
  json?: boolean
}

export function register(program: Command): void {
  const command = program
    .command('export')
    .summary('print records as lines of JSON')
    .description(
      'Print each record as a line {"seq", "timestamp", "data"}, and "encoding" where "data" is not plain UTF-8: import gives back the same bytes. (With --encoding json the same values: white space and the spelling of numbers may change.) Takes no lock.',
    )
    .argument('<dir>', "the log's folder")
    .addOption(new Option('--encoding <name>', 'how "data" is encoded').choices(EXPORT_ENCODINGS).default('auto'))
    .option('--from <seq>', 'the first one (default: the oldest)', parseWhole)
    .option('--to <seq>', 'the last one (default: the newest)', parseWhole)
  addTimes(command).option(
    '--salvage',
    'skip damaged records, report them on stderr and exit with 2; all others keep their seqs',
  )
  addJson(command).action(run)
}

async function run(dir: string, { encoding, from, to, since, until, salvage, json }: Flags): Promise<void> {
  await using log = await open(dir, { readOnly: true })
  const first = Math.max(from ?? log.firstSeq, since === undefined ? 0 : await log.seqAt(since))
  const end = until === undefined ? log.nextSeq : await log.seqAt(until)
  const total = Math.max(0, Math.min(to ?? Number.POSITIVE_INFINITY, end - 1) - first + 1)
  const progress = await startProgress('export', total, json === true || process.stdout.isTTY === true)
  const onGap = gapReporter(json === true)
  const reader = log.read({ from, to, since, until, salvage, onGap })
  const sink = new Sink()
  try {
    for await (const records of reader.batches()) {
      progress.update((records[0] as LogRecord).seq - first)
      for (const record of records) {
        const line = Buffer.from(toJsonLine(record, encoding))
        if (sink.put(line)) continue
        await sink.flush()
        if (!sink.put(line)) await writeOut(line)
      }
    }
  } finally {
    progress.stop()
    await sink.flush()
  }
}
