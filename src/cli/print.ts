/** Records to stdout, for cat and tail. */

import { ExitCode } from '../terminal/exit-codes.js'
import { formatSeqs, Sink, writeOut } from '../terminal/output.js'
import type { LogRecord, ReadableLog, ReadGap, ReadOptions } from '../types.js'
import { toReadableJsonLine } from './records.js'

export interface PrintFormat {
  json: boolean
  lengthPrefixed: boolean
}

/** Prints what `read` delivers. The exit status is `corrupt` if `salvage` skips something. */
export async function printRecords(log: ReadableLog, read: ReadOptions, format: PrintFormat): Promise<void> {
  const reader = log.read({ ...read, onGap: gapReporter(format.json) })
  const sink = new Sink()
  const put = putter(sink, format)
  try {
    for await (const records of reader.batches()) {
      for (const record of records) {
        const bytes = format.json ? Buffer.from(toReadableJsonLine(record)) : record.data
        if (put(bytes)) continue
        await sink.flush()
        if (!put(bytes)) await writeLarge(bytes, format)
      }
      // A follower flushes before it waits, so that its output is seen.
      if (read.follow) await sink.flush()
    }
  } finally {
    // Also the records before damage.
    await sink.flush()
  }
}

/** Returns what reports records that `salvage` skips; it sets the exit status. */
export function gapReporter(json: boolean): (gap: ReadGap) => void {
  return ({ first, last, error }) => {
    process.exitCode = ExitCode.corrupt
    const { message } = error
    const seqs = last === -1 ? `from ${first} on` : formatSeqs(first, last + 1)
    const text = json ? JSON.stringify({ gap: { first, last, message } }) : `durlog: lost ${seqs}: ${message}`
    process.stderr.write(`${text}\n`)
  }
}

function putter(sink: Sink, { json, lengthPrefixed }: PrintFormat): (data: Uint8Array) => boolean {
  if (json) return (data) => sink.put(data)
  return lengthPrefixed ? (data) => sink.putPrefixed(data) : (data) => sink.putLine(data)
}

/** A record that is longer than the sink. */
async function writeLarge(data: Uint8Array, { json, lengthPrefixed }: PrintFormat): Promise<void> {
  if (!json && lengthPrefixed) {
    const prefix = Buffer.alloc(4)
    prefix.writeUInt32LE(data.length)
    await writeOut(prefix)
  }
  await writeOut(data)
  if (!json && !lengthPrefixed) await writeOut('\n')
}

/** One record as it is; on a terminal followed by a newline. */
export async function printRecord(record: LogRecord, json: boolean): Promise<void> {
  if (json) return writeOut(toReadableJsonLine(record))
  await writeOut(record.data)
  if (process.stdout.isTTY) await writeOut('\n')
}
