import { createHash, randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { Log } from '../../index.js'
import { type OrderedLog, openOrdered, openRestored } from '../../open.js'
import { refuseCopy } from '../../support/folder-marks.js'
import { addJson } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import { type AppendTarget, appendInput, type NewRecord, type ToRecord } from '../appender.js'
import { type Input, InputLines, isBlank, openInput, recordsIn, type Splitter } from '../input.js'
import { fromJsonLine, LINE_ENCODINGS, type LineEncoding, parseJsonLine, timeIn, toTime } from '../records.js'
import { reportRecovery } from '../reports.js'
import { refuseStreams } from '../streams/folder.js'
import { addWriterOptions, longestRecord, toOpenOptions, type WriterFlags } from '../writer-flags.js'

interface Flags extends WriterFlags {
  encoding: LineEncoding
  keep?: boolean
  plain?: boolean
  resume?: boolean
  timeField?: string
  json?: boolean
}

/** A byte of payload takes at most six bytes of JSON text. */
const MAX_ESCAPE = 6
/** An upper bound for the rest of a line: the names, the seq and the timestamp. */
const MAX_ENVELOPE_BYTES = 4096

export function register(command: Command): void {
  command
    .description(
      'Append the "data" of each line of FILE (default: stdin), which "durlog export" has written. Records get new seqs and the time of the import; with --keep they keep the seqs and times of their lines. With --plain each whole line is a record.',
    )
    .argument('<dir>', 'the folder of the log; created if it does not exist')
    .argument('[file]', 'the file to read; "-" is stdin')
    .addOption(
      new Option('--encoding <name>', 'the encoding of "data" in lines without "encoding"')
        .choices(LINE_ENCODINGS)
        .default('utf8'),
    )
    .option(
      '--keep',
      'keep seqs and times; a new log begins with the "seq" of the first line, and seqs that the file leaves out get no record. Fails if the first line does not continue the log, and at a line without "timestamp"',
    )
    .option('--plain', 'append each line unchanged, if it is valid JSON, with the time of the import')
    .option('--resume', 'with --plain: skip the lines at the beginning of FILE that the log ends with already')
    .option(
      '--time-field <name>',
      "with --plain: take the record's time from this member (ISO 8601, or milliseconds since 1970)",
    )
  addJson(addWriterOptions(command)).action(run)
}

function checkFlags(file: string | undefined, { keep, plain, resume, shared, timeField }: Flags): void {
  const problem =
    keep && plain
      ? '--keep needs lines that "durlog export" has written: omit --plain'
      : keep && shared
        ? '--keep needs exclusive access to the log: omit --shared'
        : timeField !== undefined && !plain
          ? '--time-field needs --plain'
          : resume && (!plain || shared || file === undefined || file === '-')
            ? '--resume needs --plain, FILE and exclusive access to the log'
            : ''
  if (problem !== '') throw new InputError(problem, ExitCode.usage)
}

async function run(dir: string, file: string | undefined, flags: Flags): Promise<void> {
  const { durability, json } = flags
  checkFlags(file, flags)
  refuseStreams(dir, 'use "durlog streams DIR import FILE"')
  await using input = await openInput(file)
  const startMs = performance.now()
  const maxLineBytes = longestRecord(flags) * MAX_ESCAPE + MAX_ENVELOPE_BYTES
  let log: OrderedLog | undefined
  const open = async (first?: NewRecord, place = ''): Promise<AppendTarget> => {
    log = await openForImport(dir, first?.skipTo, flags)
    reportRecovery(log, json === true)
    if (first?.skipTo !== undefined && first.skipTo !== log.nextSeq) throw wrongSeq(place, first.skipTo, log.nextSeq)
    if (!flags.resume) return { log }
    await using lines = await openInput(file)
    return { log, skip: await countStored(log, lines, new InputLines(maxLineBytes, { skipsMark: true })) }
  }
  try {
    const lines = new InputLines(maxLineBytes, { skipsMark: true })
    await appendInput(open, converter(flags), input, lines, { command: 'import', durability, json, startMs })
  } finally {
    await log?.close()
  }
}

/** Returns the conversion of lines. With `keep`, the record of the first line has its seq as `skipTo`. */
function converter({ encoding, keep, plain, timeField }: Flags): ToRecord {
  if (plain)
    return (data, place) => {
      const value = parseJsonLine(data, place)
      return timeField === undefined ? { data } : { data, timestamp: timeIn(value, timeField, place) }
    }
  let expected: number | undefined
  return (line, place) => {
    const { data, seq, timestamp } = fromJsonLine(line, encoding, place)
    if (!keep) return { data }
    if (!Number.isSafeInteger(seq) || (seq as number) < 0)
      throw new InputError(`${place}: "seq" must be the number of a record with --keep; got ${JSON.stringify(seq)}`)
    const skipTo = seq as number
    if (expected !== undefined && skipTo < expected) throw wrongSeq(place, skipTo, expected)
    const record = { data, timestamp: toTime(timestamp, 'timestamp', place) }
    const hasGap = skipTo !== expected
    expected = skipTo + 1
    return hasGap ? { ...record, skipTo } : record
  }
}

function wrongSeq(place: string, seq: number, expected: number): InputError {
  return new InputError(
    `${place}: "seq" is ${seq}, but the log's next seq is ${expected}; with --keep the first line must have that seq, and each later line a higher one than the line before`,
  )
}

/** Opens the log. With `keep`, a new log begins with `firstSeq`. */
async function openForImport(dir: string, firstSeq: number | undefined, flags: Flags): Promise<OrderedLog> {
  const options = toOpenOptions(flags)
  if (!flags.keep) return openOrdered(dir, options)
  const path = resolve(dir)
  refuseCopy(path)
  const { segmentBytes } = flags
  return openRestored(
    path,
    { uuid: randomUUID(), firstSeq: firstSeq ?? 0, generation: 0 },
    { ...options, segmentBytes },
  )
}

/**
 * Returns the number of lines at the beginning of `input` that are the last records of `log`, in order; the largest
 * such number. Blank lines are not counted. Holds 16 bytes for each line. The algorithm is that of Knuth, Morris and
 * Pratt ("Fast pattern matching in strings", 1977): the log is searched for the lines, and the match in progress at its
 * end is the result.
 */
async function countStored(log: Log, input: Input, splitter: Splitter): Promise<number> {
  const lines: number[] = []
  for await (const list of recordsIn(input, splitter))
    for (const line of list) if (!isBlank(line)) lines.push(hashOf(line))

  /** For each number of matched lines: the next smaller number of lines that is both a beginning and an end of them. */
  const shorter: number[] = [0]
  const extend = (matched: number, hash: number): number => {
    let length = matched
    while (length > 0 && lines[length] !== hash) length = shorter[length - 1] as number
    return lines[length] === hash ? length + 1 : 0
  }
  for (let at = 1; at < lines.length; at++) shorter.push(extend(shorter[at - 1] as number, lines[at] as number))

  let matched = 0
  const from = Math.max(log.firstSeq, log.nextSeq - lines.length)
  for await (const { data } of log.read({ from })) matched = extend(matched, hashOf(data))
  return matched
}

/** The first 48 bits of the SHA-256. */
function hashOf(line: Buffer): number {
  return createHash('sha256').update(line).digest().readUIntBE(0, 6)
}
