/** Records to stdout, for cat and tail. */

import { ExitCode } from '../terminal/exit-codes.js'
import { Sink, writeOut } from '../terminal/output.js'
import type { LogRecord, ReadableLog, ReadGap, ReadOptions } from '../types.js'
import { toReadableJsonLine } from './records.js'

export interface PrintFormat {
  json: boolean
  lengthPrefixed: boolean
}

/** Prints what `read` delivers; returns the exit status: corrupt if `salvage` had to skip something. */
export async function printRecords(log: ReadableLog, read: ReadOptions, format: PrintFormat): Promise<number> {
  let exitCode: number = ExitCode.ok
  const onGap = ({ first, last, error }: ReadGap): void => {
    exitCode = ExitCode.corrupt
    const gap = last === -1 ? `from ${first} on` : `${first} to ${last}`
    const told = format.json
      ? JSON.stringify({ gap: { first, last, message: error.message } })
      : `durlog: records ${gap} are lost: ${error.message}`
    process.stderr.write(`${told}\n`)
  }
  const reader = log.read({ ...read, onGap })
  const sink = new Sink()
  const put = putter(sink, format)
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
  await sink.flush()
  return exitCode
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
