/** Prints records of streams to stdout. */
import type { StreamRecord } from '../../streams/types.js'
import { formatTime, Sink } from '../../terminal/output.js'

/** Prints each value on a line, as JSON, as text, or as unchanged bytes. */
export function printValues(
  records: AsyncIterable<StreamRecord<unknown>>,
  { follow = false, times = false, json = false }: { follow?: boolean; times?: boolean; json?: boolean },
): Promise<void> {
  return printLines(records, follow, (record) => {
    if (json) return jsonLine(record, times)
    const bytes = valueBytes(record.value)
    return times ? Buffer.concat([Buffer.from(`${formatTime(record.timestamp)}\t`), bytes]) : bytes
  })
}

/** Prints each record as an object with "seq", "timestamp" and "value"; bytes are base64, with "encoding". */
export function exportRecords(records: AsyncIterable<StreamRecord<unknown>>): Promise<void> {
  return printLines(records, false, (record) => jsonLine(record, false))
}

async function printLines(
  records: AsyncIterable<StreamRecord<unknown>>,
  follow: boolean,
  toLine: (record: StreamRecord<unknown>) => Uint8Array,
): Promise<void> {
  const sink = new Sink()
  try {
    for await (const record of records) {
      const line = toLine(record)
      if (!sink.put(line, 'line')) await sink.write(line, 'line')
      if (follow) await sink.flush()
    }
  } finally {
    await sink.flush()
  }
}

function jsonLine({ seq, timestamp, value }: StreamRecord<unknown>, iso: boolean): Buffer {
  const time = iso ? formatTime(timestamp) : timestamp
  const rest =
    value instanceof Uint8Array ? { value: Buffer.from(value).toString('base64'), encoding: 'base64' } : { value }
  return Buffer.from(JSON.stringify({ seq, timestamp: time, ...rest }))
}

function valueBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
}
