/** Reads records of a stream as bytes, and joins them into the body that the protocol requires. */
import { isCode } from '../errors.js'
import type { StreamsAccess, StreamView } from '../streams/access.js'
import { codecOf, type StreamCodec } from '../streams/encoding.js'
import { contentTypeOf, mediaType } from '../streams/meta.js'
import type { StreamEncoding } from '../streams/types.js'

export interface Chunk {
  records: Buffer[]
  /** The number of bytes of the records. */
  bytes: number
  /** The seq after the last record. */
  next: number
}

const RAW: Record<StreamEncoding, StreamCodec> = {
  json: { ...codecOf('json'), decode: withoutPadding },
  text: { ...codecOf('text'), decode: (data) => Buffer.from(JSON.parse(data.toString()) as string) },
  bytes: codecOf('bytes'),
}
const COMMA = Buffer.from(',')

/** Reads visible records from seq `from` on, about `maxBytes` of them. */
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
    // Each read takes a turn of a worker thread, so no read is made for the last eighth of the bytes.
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
    // Retention has removed the next records. The client's next request reports that.
    if (chunk.records.length > 0 && isCode(error, 'ERR_DURLOG_OUT_OF_RANGE')) return chunk
    throw error
  } finally {
    await source.close()
  }
}

export function isJson({ meta }: StreamView): boolean {
  return meta.encoding === 'json'
}

/** Whether the stream's data is sent as text in events; otherwise as base64. */
export function isText({ meta }: StreamView): boolean {
  return meta.encoding === 'json' || meta.encoding === 'text' || mediaType(contentTypeOf(meta)).startsWith('text/')
}

/** Joins the records: in a JSON array, or one after the other. */
export function bodyOf(stream: StreamView, { records }: Chunk): Buffer {
  if (!isJson(stream)) return records.length === 1 ? (records[0] as Buffer) : Buffer.concat(records)
  const parts: Buffer[] = [Buffer.from('[')]
  for (const record of records) parts.push(record, COMMA)
  parts[parts.length - (records.length > 0 ? 1 : 0)] = Buffer.from(']')
  return Buffer.concat(parts)
}

/** Removes the newline of a line, and the spaces that fill up a page. */
function withoutPadding(data: Buffer): Buffer {
  let start = 0
  while (data[start] === 0x20) start++
  let end = data.length
  while (end > start && (data[end - 1] === 0x0a || data[end - 1] === 0x20)) end--
  return start === 0 && end === data.length ? data : data.subarray(start, end)
}
