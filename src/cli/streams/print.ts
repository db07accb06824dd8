/** Prints records of streams to stdout. */
import { codecOf, type EncodedValue } from '../../streams/port/encoding.js'
import type { StreamRecord } from '../../streams/port/types.js'
import { formatTime, OutputSink } from '../../terminal/output.js'

/** Prints each value on a line, as JSON, as text, or as unchanged bytes. */
export function printValues(
  records: AsyncIterable<StreamRecord<EncodedValue>>,
  { follow = false, times = false, json = false }: { follow?: boolean; times?: boolean; json?: boolean },
): Promise<void> {
  return printLines(records, follow, (record) => {
    if (json) return jsonLine(record, times)
    const bytes = valueBytes(record.value)
    return times ? Buffer.concat([Buffer.from(`${formatTime(record.timestamp)}\t`), bytes]) : bytes
  })
}

/** Prints each record as an object with "seq", "timestamp" and "value"; bytes are base64, with "encoding". */
export function exportRecords(records: AsyncIterable<StreamRecord<EncodedValue>>): Promise<void> {
  return printLines(records, false, (record) => jsonLine(record, false))
}

async function printLines(
  records: AsyncIterable<StreamRecord<EncodedValue>>,
  follow: boolean,
  toLine: (record: StreamRecord<EncodedValue>) => Uint8Array,
): Promise<void> {
  const sink = new OutputSink()
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

/** The value is printed as it is stored: a number of JSON may not fit into one of JavaScript. */
function jsonLine({ seq, timestamp, value }: StreamRecord<EncodedValue>, iso: boolean): Buffer {
  const time = iso ? `"${formatTime(timestamp)}"` : timestamp
  const { encoding, data } = value
  const rest = encoding === 'buffer' ? `"${data.toString('base64')}","encoding":"base64"` : data.toString().trim()
  return Buffer.from(`{"seq":${seq},"timestamp":${time},"value":${rest}}`)
}

function valueBytes({ encoding, data }: EncodedValue): Uint8Array {
  if (encoding === 'buffer') return data
  const text = encoding === 'utf8' ? (codecOf(encoding).decode(data) as string) : data.toString().trim()
  return Buffer.from(text)
}
