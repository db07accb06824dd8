/**
 * The frames of the socket between the owner of a folder and its clients: the length of the rest (u32), the type (u8),
 * an id (u48) and the payload, all little-endian.
 */
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers'
import { RECORD_MAX_BYTES } from '../items.js'

export const FrameType = {
  // From the client. The id of `submit` is the request's number, the id of `confirm` the lowest number that is still
  // needed.
  hello: 1,
  submit: 2,
  call: 3,
  read: 4,
  more: 5,
  endRead: 6,
  confirm: 7,
  ping: 8,
  // From the owner. The id is that of the request or of the read.
  welcome: 32,
  stored: 33,
  answer: 34,
  refused: 35,
  records: 36,
  readEnded: 37,
  readFailed: 38,
  pong: 39,
  event: 40,
  unwelcome: 41,
  chunk: 42,
} as const
export type FrameType = (typeof FrameType)[keyof typeof FrameType]

export interface Frame {
  type: number
  id: number
  payload: Buffer
}

const LENGTH_BYTES = 4
const HEADER_BYTES = 7
const SLAB_BYTES = 1 << 16
/** Enough for a batch, which must fit into one segment of the log, and for a record with its stream's name. */
export const PAYLOAD_MAX_BYTES: number = 2 * RECORD_MAX_BYTES + (1 << 16)

/** Makes a frame with room for a payload of `bytes` bytes, which begins at offset `at` of the frame. */
export function makeFrame(type: FrameType, id: number, bytes: number): { frame: Buffer; at: number } {
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + HEADER_BYTES + bytes)
  frame.writeUInt32LE(HEADER_BYTES + bytes, 0)
  frame[LENGTH_BYTES] = type
  frame.writeUIntLE(id, LENGTH_BYTES + 1, 6)
  return { frame, at: LENGTH_BYTES + HEADER_BYTES }
}

export function jsonFrame(type: FrameType, id: number, value?: unknown): Buffer {
  const text = value === undefined ? '' : JSON.stringify(value)
  const { frame, at } = makeFrame(type, id, Buffer.byteLength(text))
  frame.write(text, at)
  return frame
}

export function jsonOf({ payload }: Frame): unknown {
  return payload.length === 0 ? undefined : JSON.parse(payload.toString())
}

/** Splits the bytes from a socket into frames. */
export class FrameReader {
  #chunks: Buffer[] = []
  #bytes = 0
  #needed = LENGTH_BYTES

  /** Returns the frames that are complete with `chunk`. Throws a RangeError if a frame is too long or too short. */
  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    const frames: Frame[] = []
    if (this.#bytes < this.#needed) return frames
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    let at = 0
    this.#needed = LENGTH_BYTES
    while (bytes.length - at >= LENGTH_BYTES) {
      const length = bytes.readUInt32LE(at)
      if (length < HEADER_BYTES || length > HEADER_BYTES + PAYLOAD_MAX_BYTES)
        throw new RangeError(`a frame of ${length} bytes`)
      const end = at + LENGTH_BYTES + length
      if (end > bytes.length) {
        this.#needed = end - at
        break
      }
      const headerAt = at + LENGTH_BYTES
      frames.push({
        type: bytes[headerAt] as number,
        id: bytes.readUIntLE(headerAt + 1, 6),
        payload: bytes.subarray(headerAt + HEADER_BYTES, end),
      })
      at = end
    }
    this.#chunks = at < bytes.length ? [bytes.subarray(at)] : []
    this.#bytes = bytes.length - at
    return frames
  }
}

/** Sends the frames of one turn of the event loop with few writes. */
export class FrameWriter {
  readonly #socket: Socket
  #slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
  #start = 0
  #end = 0
  #scheduled = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  send(frame: Buffer): void {
    if (this.#end + frame.length > SLAB_BYTES) this.flush()
    if (frame.length > SLAB_BYTES / 8) {
      this.flush()
      this.#socket.write(frame)
      return
    }
    if (this.#end + frame.length > SLAB_BYTES) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#start = 0
      this.#end = 0
    }
    this.#end += frame.copy(this.#slab, this.#end)
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.flush())
  }

  flush(): void {
    this.#scheduled = false
    if (this.#end === this.#start) return
    this.#socket.write(this.#slab.subarray(this.#start, this.#end))
    this.#start = this.#end
  }
}
