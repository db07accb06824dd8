/** One stream as the owner of the folder knows it. */
import { EMPTY, type Entry } from './entry.js'

/** The content of the stream's files as of its last checkpoint. Never changed, only replaced. */
export interface StreamDisk {
  /** The seqs in the file: from `first` to `next` - 1. */
  readonly first: number
  readonly next: number
  /** Where the last of them ends. */
  readonly bytes: number
  /** CRC-32 of these bytes. */
  readonly crc: number
  /** The index after its last full block. */
  readonly index: Buffer
}

/** Of a stream that no checkpoint has stored. */
export const NO_DISK: StreamDisk = { first: 0, next: 0, bytes: 0, crc: 0, index: EMPTY }

/** A record that is not in the stream's file yet. */
export class TailRecord {
  readonly position: number
  readonly timeMs: number
  /** Its entry in the log, and where the value begins in it. */
  readonly #frame: Buffer
  readonly #valueAt: number

  constructor(position: number, { timeMs, frame, valueAt }: Pick<Entry, 'timeMs' | 'frame' | 'valueAt'>) {
    this.position = position
    this.timeMs = timeMs
    this.#frame = frame
    this.#valueAt = valueAt
  }

  /** The value's bytes; a new view of them each time. */
  get data(): Buffer {
    return this.#frame.subarray(this.#valueAt)
  }

  get length(): number {
    return this.#frame.length - this.#valueAt
  }
}

/** The appends of one producer to one stream. */
export interface ProducerState {
  epoch: number
  /** The seq of its last append. */
  seq: number
  /** The stream's seqs of its last appends in this epoch, at most RECENT_APPENDS, oldest first. */
  recent: number[]
}

/** A stream at the position of a checkpoint. */
export interface StreamCapture {
  next: number
  ended: boolean
  producers: Map<string, ProducerState>
}

export const RECENT_APPENDS = 16
/** The approximate overhead of a record in memory. */
export const TAIL_RECORD_OVERHEAD_BYTES = 128

export class StreamState {
  readonly name: string
  /** The position of the entry that made it: tells it from another stream of the same name. */
  readonly created: number
  /** A deleted stream of the same name may have left files. */
  readonly replaces: boolean
  disk: StreamDisk
  /** The records from `disk.next` on. */
  tail: TailRecord[] = []
  next: number
  /** The records before it have reached the level. */
  visible: number
  ended = false
  /** The end has reached the level. */
  endVisible = false
  deleted = false
  producers: Map<string, ProducerState> = new Map()
  /** Set while a checkpoint has yet to store it and it has changed since the checkpoint began. */
  capture: StreamCapture | undefined

  constructor(name: string, created: number, disk: StreamDisk, replaces: boolean) {
    this.name = name
    this.created = created
    this.disk = disk
    this.next = disk.next
    this.visible = disk.next
    this.replaces = replaces
  }

  /** The stream at this moment. */
  copy(): StreamCapture {
    const producers = new Map<string, ProducerState>()
    for (const [id, { epoch, seq, recent }] of this.producers) producers.set(id, { epoch, seq, recent: [...recent] })
    return { next: this.next, ended: this.ended, producers }
  }
}

export function tailBytesOf(records: readonly TailRecord[]): number {
  let bytes = 0
  for (const { length } of records) bytes += length + TAIL_RECORD_OVERHEAD_BYTES
  return bytes
}
