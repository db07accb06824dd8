import { type Command, Option } from 'commander'
import { open } from '../../index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { formatCounted, formatSeqs, OutputSink } from '../../terminal/output.js'
import type { LogRecord } from '../../types.js'
import { addTimes, type TimeFlags } from '../arguments.js'
import { gapReporter } from '../print.js'
import { EXPORT_ENCODINGS, type ExportEncoding, toJsonLine } from '../records.js'
import { withProgress } from '../with-progress.js'

interface Flags extends TimeFlags {
  encoding: ExportEncoding
  from?: number
  to?: number
  salvage?: boolean
  json?: boolean
}

export function register(command: Command): void {
  command
    .description(
      'Print each record as a line of JSON with "seq", "timestamp" and "data", and with "encoding" if "data" is not plain UTF-8. "durlog import" restores the same bytes; with --encoding json it restores the same values, but white space and the notation of numbers may change. Takes no lock.',
    )
    .argument('<dir>', 'the folder of the log')
    .addOption(
      new Option(
        '--encoding <name>',
        'the encoding of "data"; auto: UTF-8 if the record is valid UTF-8, otherwise base64',
      )
        .choices(EXPORT_ENCODINGS)
        .default('auto'),
    )
    .option('--from <seq>', 'the first record (default: the oldest)', parseWhole)
    .option('--to <seq>', 'end before this record (default: the end of the log)', parseWhole)
  addTimes(command, 'export records').option(
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
  const onGap = gapReporter(json === true)
  const reader = log.read({ from, to, since, until, salvage, onGap })
  const sink = new OutputSink()
  let next = first
  const silent = json === true || process.stdout.isTTY === true
  const interrupted = (): string =>
    `exported ${formatCounted(next - first, 'record')}, up to ${formatSeqs(first, next)}`
  try {
    await withProgress({ label: 'export', total, silent, interrupted }, async (progress) => {
      for await (const records of reader.batches()) {
        progress.update(next - first)
        for (const record of records) {
          const line = Buffer.from(toJsonLine(record, encoding))
          if (!sink.put(line)) await sink.write(line)
        }
        next = (records.at(-1) as LogRecord).seq + 1
      }
    })
  } finally {
    await sink.flush()
  }
}
