/** Reads records of a stream as the body of an answer. */
import { isCode } from '../errors.js'
import { Body } from '../streams/port/body.js'
import { contentTypeOf, mediaType } from '../streams/port/meta.js'
import type { StreamView } from '../streams/port/port.js'
import { TimeSlice } from '../support/time-slice.js'
import type { Service } from './service.js'

export interface BodyChunk {
  /** The records: a JSON array, or one after the other. */
  body: Buffer
  /** The seq after the last record; the seq at which the read began if there are none. */
  next: number
}

/** Reads visible records from seq `from` on: records of at most `maxBytes`, or one that is longer. */
export async function readChunk(
  { access, memory }: Pick<Service, 'access' | 'memory'>,
  stream: StreamView,
  from: number,
  maxBytes: number,
): Promise<BodyChunk> {
  const taken = memory.take()
  const body = new Body(stream.meta.encoding, maxBytes, taken)
  const slice = new TimeSlice()
  let next = from
  try {
    while (next < stream.visible && !body.isFull) {
      if (slice.isSpent) await slice.nextTurn()
      const read = await access.read(stream, next, body)
      if (read.next === next) break
      next = read.next
    }
  } catch (error) {
    // The client's next request reports the error.
    if (next === from || isCode(error, 'ERR_DURLOG_NOT_FOUND')) throw error
  }
  return { body: memory.detach(body.finish(), taken), next }
}

export function isJson({ meta }: StreamView): boolean {
  return meta.encoding === 'json'
}

/** Whether the stream's data is sent as text in events; otherwise as base64. */
export function isText({ meta }: StreamView): boolean {
  return meta.encoding === 'json' || meta.encoding === 'utf8' || mediaType(contentTypeOf(meta)).startsWith('text/')
}
