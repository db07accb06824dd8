import { type Command, Option } from 'commander'
import { open } from '../../index.js'
import { addJson } from '../../terminal/arguments.js'
import { InputError } from '../../terminal/input-error.js'
import { formatCounted, writeSummary } from '../../terminal/output.js'
import { startProgress } from '../../terminal/progress.js'
import { Appender, appendInput, type Piece } from '../appender.js'
import { LineSplitter, openInput } from '../input.js'
import { ENCODINGS, type Encoding, fromJsonLine, toTime } from '../records.js'
import { addWriterOptions, longestRecord, toOpenOptions, type WriterFlags } from '../writer-flags.js'

interface Flags extends WriterFlags {
  encoding: Encoding
  keep?: boolean
  json?: boolean
}

/** A byte of payload is at most six of JSON text; the rest of the line is short. */
const MAX_ESCAPE = 6
const MAX_ENVELOPE_BYTES = 4096

export function register(program: Command): void {
  const command = program
    .command('import')
    .summary('append records from lines of JSON')
    .description(
      'Append the "data" of each line of FILE (default: stdin), as export writes them: the same bytes come back. Records get new seqs and the time of their import, or with --keep those of their lines.',
    )
    .argument('<dir>', "the log's folder")
    .argument('[file]', 'where lines come from; "-" is stdin')
    .addOption(
      new Option('--encoding <name>', 'how "data" is encoded in lines without an "encoding"')
        .choices(ENCODINGS)
        .default('utf8'),
    )
    .option(
      '--keep',
      'keep seqs and times: fail at the first line whose "seq" is not the next one of the log, or without a "timestamp"',
    )
  addJson(addWriterOptions(command)).action(run)
}

async function run(dir: string, file: string | undefined, flags: Flags): Promise<void> {
  const { durability, encoding, keep, json } = flags
  const input = await openInput(file)
  await using log = await open(dir, toOpenOptions(flags))
  const progress = await startProgress('import', input.totalBytes, json === true || input.totalBytes === 0)
  let line = 0
  let nextSeq = log.nextSeq
  const toRecord = (text: Buffer): Piece => {
    const place = `line ${++line}`
    const { data, seq, timestamp } = fromJsonLine(text, encoding, place)
    if (keep && seq !== nextSeq)
      throw new InputError(
        `${place}: "seq" is ${JSON.stringify(seq)}, and the log's next one is ${nextSeq}; --keep needs a log that ends right before the first line, and lines without a gap`,
      )
    nextSeq++
    return keep ? { data, time: toTime(timestamp, place) } : { data }
  }
  const splitter = new LineSplitter(longestRecord(flags) * MAX_ESCAPE + MAX_ENVELOPE_BYTES, false)
  const appender = new Appender(log, durability, flags.segmentBytes)
  try {
    await appendInput(appender, input, splitter, toRecord, progress)
  } finally {
    progress.stop()
    const { first, last, records } = appender.summary
    const range = records > 0 ? { first, last } : {}
    if (json) await writeSummary(`${JSON.stringify({ records, ...range, durability })}\n`)
    else if (records === 0) await writeSummary('imported nothing\n')
    else await writeSummary(`imported ${formatCounted(records, 'record')}, seq ${first} to ${last}, at ${durability}\n`)
  }
}
