/**
 * The frames of the socket between the owner of a folder and its clients: the length of the rest (u32), the type (u8),
 * an id (u48) and the payload, all little-endian.
 */
import type { Socket } from 'node:net'
import { setImmediate } from '../../timers.js'
import { GROUP_MAX_BYTES } from '../port/encoding.js'

export const FrameType = {
  // From the client. The id of `submit` is the request's number, the id of `confirm` the lowest number that
  // is still needed.
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
  body: 42,
} as const
export type FrameType = (typeof FrameType)[keyof typeof FrameType]

/** A received frame. Its payload is `bytes` from `at` to `end`. */
export interface SocketFrame {
  readonly type: number
  readonly id: number
  readonly bytes: Buffer
  readonly at: number
  readonly end: number
}

/** A frame to send: `bytes` from `start` to `end`. */
export interface MadeFrame {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

const LENGTH_BYTES = 4
const HEADER_BYTES = 7
const SLAB_BYTES = 1 << 16

/** Makes frames in shared memory. A frame is adjacent to the previous one if the memory has room for it. */
export class FrameMaker {
  /** The last frame is `bytes` from `start` to `end`. */
  bytes: Buffer = Buffer.allocUnsafeSlow(0)
  start = 0
  end = 0

  /** Begins a frame with room for a payload of `payloadBytes`. Returns the offset of the payload in `bytes`. */
  begin(type: FrameType, id: number, payloadBytes: number): number {
    const length = LENGTH_BYTES + HEADER_BYTES + payloadBytes
    if (this.end + length > this.bytes.length) {
      this.bytes = Buffer.allocUnsafeSlow(Math.max(length, SLAB_BYTES))
      this.end = 0
    }
    const { bytes, end: start } = this
    this.start = start
    this.end = start + length
    bytes.writeUInt32LE(length - LENGTH_BYTES, start)
    bytes[start + LENGTH_BYTES] = type
    bytes.writeUIntLE(id, start + LENGTH_BYTES + 1, 6)
    return start + LENGTH_BYTES + HEADER_BYTES
  }

  /** Ends the last frame at the offset `end`, before the end of its room. */
  shorten(end: number): void {
    this.bytes.writeUInt32LE(end - this.start - LENGTH_BYTES, this.start)
    this.end = end
  }

  json(type: FrameType, id: number, value?: unknown): MadeFrame {
    return this.text(type, id, value === undefined ? '' : JSON.stringify(value))
  }

  text(type: FrameType, id: number, text: string): MadeFrame {
    const at = this.begin(type, id, Buffer.byteLength(text))
    this.bytes.write(text, at)
    return this
  }
}

export function payloadOf({ bytes, at, end }: SocketFrame): Buffer {
  return bytes.subarray(at, end)
}

export function jsonOf({ bytes, at, end }: SocketFrame): unknown {
  return at === end ? undefined : JSON.parse(bytes.toString('utf8', at, end))
}

/** Splits the bytes from a socket into frames. */
export class FrameReader {
  #chunks: Buffer[] = []
  #bytes = 0
  #needed = LENGTH_BYTES

  /** Whether a frame, or a part of one, has been received and not taken. */
  get holdsBytes(): boolean {
    return this.#bytes > 0
  }

  /** Whether a frame may be complete that `mayTake` has held back. */
  get holdsFrame(): boolean {
    return this.#bytes >= this.#needed
  }

  /**
   * Calls `take` for each frame that is complete with `chunk`, as long as `mayTake` returns true; later calls continue.
   * Throws a RangeError if a frame is too long or too short.
   */
  push(chunk: Buffer, take: (frame: SocketFrame) => void, mayTake: () => boolean = () => true): void {
    if (chunk.length > 0) this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes < this.#needed) return
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks)
    let next = 0
    this.#needed = LENGTH_BYTES
    while (bytes.length - next >= LENGTH_BYTES && mayTake()) {
      const length = bytes.readUInt32LE(next)
      if (length < HEADER_BYTES || length > HEADER_BYTES + GROUP_MAX_BYTES)
        throw new RangeError(`a frame of ${length} bytes`)
      const start = next + LENGTH_BYTES
      const end = start + length
      if (end > bytes.length) {
        this.#needed = end - next
        break
      }
      take({
        type: bytes[start] as number,
        id: bytes.readUIntLE(start + 1, 6),
        bytes,
        at: start + HEADER_BYTES,
        end,
      })
      next = end
    }
    this.#chunks = next < bytes.length ? [bytes.subarray(next)] : []
    this.#bytes = bytes.length - next
  }
}

/** Sends the frames of one turn of the event loop with few writes: one for all frames that are adjacent. */
export class FrameWriter {
  readonly maker: FrameMaker
  readonly #socket: Socket
  #bytes: Buffer | undefined
  #start = 0
  #end = 0
  #scheduled = false

  constructor(socket: Socket, maker: FrameMaker) {
    this.#socket = socket
    this.maker = maker
  }

  send({ bytes, start, end }: MadeFrame): void {
    if (this.#socket.destroyed) return
    if (bytes !== this.#bytes || start !== this.#end) {
      this.flush()
      this.#bytes = bytes
      this.#start = start
    }
    this.#end = end
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.flush())
  }

  json(type: FrameType, id: number, value?: unknown): void {
    this.send(this.maker.json(type, id, value))
  }

  flush(): void {
    this.#scheduled = false
    if (this.#end === this.#start) return
    this.#socket.write((this.#bytes as Buffer).subarray(this.#start, this.#end))
    this.#start = this.#end
  }
}
