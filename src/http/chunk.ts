/** Reads records of a stream as bytes, and joins them into the body that the protocol wants. */
import { isCode } from '../errors.js'
import type { StreamsAccess, StreamView } from '../streams/access.js'
import { codecOf, type StreamCodec } from '../streams/encoding.js'
import { contentTypeOf, mediaType } from '../streams/meta.js'
import type { StreamEncoding } from '../streams/types.js'

export interface Chunk {
  records: Buffer[]
  bytes: number
  /** The seq after them. */
  next: number
}

const RAW: Record<StreamEncoding, StreamCodec> = {
  json: { ...codecOf('json'), decode: withoutPadding },
  text: { ...codecOf('text'), decode: (data) => Buffer.from(JSON.parse(data.toString()) as string) },
  bytes: codecOf('bytes'),
}
const COMMA = Buffer.from(',')

/** Visible records from `from` on, about `maxBytes` of them. */
export async function readChunk(
  access: StreamsAccess,
  stream: StreamView,
  from: number,
  maxBytes: number,
): Promise<Chunk> {
  const chunk: Chunk = { records: [], bytes: 0, next: from }
  if (from >= stream.visible) return chunk
  const source = access.records<Buffer>((encoding) => RAW[encoding])
  try {
    // Each read costs a turn of a worker: none is made for the last bytes.
    const enough = maxBytes - maxBytes / 8
    while (chunk.bytes < enough && chunk.next < stream.visible) {
      const found = await source.next(stream, chunk.next, maxBytes - chunk.bytes)
      if (found.length === 0) chunk.next = stream.visible
      for (const { value, seq } of found) {
        if (chunk.records.length > 0 && chunk.bytes + value.length > maxBytes) return chunk
        chunk.records.push(value)
        chunk.bytes += value.length
        chunk.next = seq + 1
      }
    }
    return chunk
  } catch (error) {
    // The next request finds out that retention has removed the following records.
    if (chunk.records.length > 0 && isCode(error, 'ERR_DURLOG_OUT_OF_RANGE')) return chunk
    throw error
  } finally {
    await source.close()
  }
}

export function isJson({ meta }: StreamView): boolean {
  return meta.encoding === 'json'
}

/** Whether its data is sent as text in events. */
export function isText({ meta }: StreamView): boolean {
  return meta.encoding === 'json' || meta.encoding === 'text' || mediaType(contentTypeOf(meta)).startsWith('text/')
}

/** The records in an array of JSON, or one after the other. */
export function bodyOf(stream: StreamView, { records }: Chunk): Buffer {
  if (!isJson(stream)) return records.length === 1 ? (records[0] as Buffer) : Buffer.concat(records)
  const parts: Buffer[] = [Buffer.from('[')]
  for (const record of records) parts.push(record, COMMA)
  parts[parts.length - (records.length > 0 ? 1 : 0)] = Buffer.from(']')
  return Buffer.concat(parts)
}

/** A line of a file without the newline and without the spaces that fill up a page. */
function withoutPadding(data: Buffer): Buffer {
  let start = 0
  while (data[start] === 0x20) start++
  let end = data.length
  while (end > start && (data[end - 1] === 0x0a || data[end - 1] === 0x20)) end--
  return start === 0 && end === data.length ? data : data.subarray(start, end)
}
