/** Prints records to stdout, for cat, tail and get. */
import { ExitCode } from '../terminal/exit-codes.js'
import {
  formatCounted,
  formatSeqs,
  formatTime,
  OutputClosedError,
  OutputSink,
  writeErr,
  writeMessage,
  writeOut,
} from '../terminal/output.js'
import type { LogReader, LogRecord, ReadGap } from '../types.js'
import { onOutputClosed } from './closed-output.js'
import { toReadableJsonLine } from './records.js'
import { withProgress } from './with-progress.js'

export interface PrintFormat {
  json: boolean
  lengthPrefixed: boolean
  /** Whether to print each record's time before it. */
  times: boolean
}

export interface PrintOptions {
  format: PrintFormat
  /** Whether to flush after each batch, so that the output is visible while the reader waits for more records. */
  follow: boolean
  /** Called with the last seq of each batch, once it is written. */
  onWritten?: (seq: number) => Promise<void> | void
}

/** Prints the records that `reader` delivers, including those before an error. */
export async function printRecords(reader: LogReader, { format, follow, onWritten }: PrintOptions): Promise<void> {
  const sink = new OutputSink()
  const framing = format.json ? 'none' : format.lengthPrefixed ? 'length' : 'line'
  let closed = false
  const end = (): void => {
    closed = true
    void reader.return()
  }
  const stop = follow ? onOutputClosed(end) : () => {}
  try {
    for await (const records of reader.batches()) {
      for (const record of records) {
        const bytes = encode(record, format)
        if (!sink.put(bytes, framing)) await sink.write(bytes, framing)
      }
      if (follow || onWritten !== undefined) await sink.flush()
      await onWritten?.((records.at(-1) as LogRecord).seq)
    }
  } finally {
    stop()
    await sink.flush()
  }
  if (closed) throw new OutputClosedError()
}

/**
 * As `printRecords`, for a reader that ends. If stdout is not a terminal, shows the progress, and at a signal the
 * number of records.
 */
export async function printAll(reader: LogReader, format: PrintFormat, first: number, end: number): Promise<void> {
  const watched = process.stdout.isTTY !== true
  let next = first
  const printed = (): string => `printed ${formatCounted(next - first, 'record')}, ${formatSeqs(first, next)}`
  const interrupted = watched ? printed : undefined
  const total = Math.max(0, end - first)
  await withProgress({ label: 'cat', total, silent: !watched || format.json, interrupted }, (progress) => {
    const onWritten = (seq: number): void => {
      next = seq + 1
      progress.update(next - first)
    }
    return printRecords(reader, { format, follow: false, onWritten })
  })
}

/** Returns a function that reports records that `salvage` has skipped, and sets the exit status. */
export function gapReporter(json: boolean): (gap: ReadGap) => void {
  return ({ first, last, error }) => {
    process.exitCode = ExitCode.corrupt
    const { message } = error
    const seqs = last === -1 ? `everything from seq ${first} on` : formatSeqs(first, last + 1)
    if (json) writeErr(`${JSON.stringify({ gap: { first, last, message } })}\n`)
    else writeMessage('durlog: ', `lost ${seqs}: ${message}`)
  }
}

function encode(record: LogRecord, { json, times }: PrintFormat): Uint8Array {
  if (json) return Buffer.from(toReadableJsonLine(record, times))
  if (!times) return record.data
  return Buffer.concat([Buffer.from(`${formatTime(record.timestamp)}\t`), record.data])
}

/** Prints one record unchanged; on a terminal, followed by a newline. */
export async function printRecord(record: LogRecord, json: boolean): Promise<void> {
  if (json) return writeOut(toReadableJsonLine(record))
  await writeOut(record.data)
  if (process.stdout.isTTY) await writeOut('\n')
}
