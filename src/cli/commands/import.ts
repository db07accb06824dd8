import { type Command, Option } from 'commander'
import { open } from '../../index.js'
import { Appender, appendInput } from '../appender.js'
import { addJson, addWriterOptions, longestRecord, toOpenOptions, type WriterFlags } from '../arguments.js'
import { LineSplitter, openInput } from '../input.js'
import { formatCount, writeJson, writeOut } from '../output.js'
import { startProgress } from '../progress.js'
import { ENCODINGS, type Encoding, fromJsonLine } from '../records.js'

interface Flags extends WriterFlags {
  encoding: Encoding
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
      'Append the "data" of each line of FILE (default: stdin), as export writes them. "seq" and "timestamp" are not kept: records get new ones.',
    )
    .argument('<dir>', "the log's folder")
    .argument('[file]', 'where lines come from; "-" is stdin')
    .addOption(new Option('--encoding <name>', 'how "data" stands there').choices(ENCODINGS).default('utf8'))
  addJson(addWriterOptions(command)).action(run)
}

async function run(dir: string, file: string | undefined, flags: Flags): Promise<void> {
  const { durability, encoding, json } = flags
  const input = await openInput(file)
  await using log = await open(dir, toOpenOptions(flags))
  const progress = await startProgress('import', input.totalBytes, json === true || input.totalBytes === 0)
  let line = 0
  const toRecord = (text: Buffer): Buffer => fromJsonLine(text, encoding, `line ${++line}`)
  const splitter = new LineSplitter(longestRecord(flags) * MAX_ESCAPE + MAX_ENVELOPE_BYTES, false)
  const appender = new Appender(log, durability, flags.segmentBytes)
  try {
    await appendInput(appender, input, splitter, toRecord, progress)
  } finally {
    progress.stop()
    const { first, last, records } = appender.summary
    const range = records > 0 ? { first, last } : {}
    if (json) await writeJson({ records, ...range, durability })
    else if (records === 0) await writeOut('imported nothing\n')
    else await writeOut(`imported ${formatCount(records)} records, seq ${first} to ${last}, at ${durability}\n`)
  }
}
