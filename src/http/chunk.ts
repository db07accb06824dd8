/** Reads records of a stream as the body of an answer. */
import { isCode } from '../errors.js'
import { Body } from '../streams/body.js'
import { contentTypeOf, mediaType } from '../streams/meta.js'
import type { StreamView } from '../streams/port/port.js'
import { TimeSlice } from '../streams/time-slice.js'
import type { Service } from './service.js'

/** The memory that is kept for later reads. */
const SPARE_BYTES = 8 << 20

export interface Chunk {
  /** The records: a JSON array, or one after the other. */
  body: Buffer
  /** The seq after the last record; the seq at which the read began if there are none. */
  next: number
}

/**
 * Memory for reading bodies. A body that takes at least half of its memory keeps it. A shorter one is copied, so that
 * the memory can be used again, and a slow client holds only the bytes of its answer.
 */
export class BodyMemory {
  readonly #bytes: number
  readonly #spare: Buffer[] = []

  /** For bodies with records of at most `maxBytes`. */
  constructor(maxBytes: number) {
    this.#bytes = Body.memoryFor(maxBytes)
  }

  take(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#bytes)
  }

  /** Returns `body`, or its copy if `memory`, in which it was read, is used again. */
  detach(body: Buffer, memory: Buffer): Buffer {
    if (body.buffer === memory.buffer && 2 * body.length >= memory.length) return body
    if ((this.#spare.length + 1) * this.#bytes <= SPARE_BYTES) this.#spare.push(memory)
    return body.buffer === memory.buffer ? Buffer.from(body) : body
  }
}

/** Reads visible records from seq `from` on: records of at most `maxBytes`, or one that is longer. */
export async function readChunk(
  { access, memory }: Pick<Service, 'access' | 'memory'>,
  stream: StreamView,
  from: number,
  maxBytes: number,
): Promise<Chunk> {
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
  return meta.encoding === 'json' || meta.encoding === 'text' || mediaType(contentTypeOf(meta)).startsWith('text/')
}
