/** Converts the messages of a subject back to records: joins parts, checks each record, and rejects gaps. */
import type { MsgHdrs } from '@nats-io/transport-node'
import { DurlogError } from '../errors.js'
import { decodeFrames } from '../frames.js'
import { recordCrc } from '../ship/record-crc.js'
import { gapInStream } from './gap.js'
import { isDeletionMarker, parseMessage, type StoredPart } from './message.js'

export interface RestoredRecord {
  seq: number
  data: Uint8Array
  timestamp: number
}

const NONE: readonly RestoredRecord[] = []

/** A record that came before: the stream was emptied, and the log is shipped to it again. */
export class EarlierRecord extends DurlogError {}

/** The records of a packed message; undefined if it is damaged. */
export function unpack(part: StoredPart, data: Uint8Array): readonly RestoredRecord[] | undefined {
  const { uuid, first, seq, baseMs = 0, crc } = part
  const records = decodeFrames(uuid, data, { first, last: seq, baseMs })
  const last = records?.at(-1)
  return last !== undefined && recordCrc(uuid, seq, last.timestamp, last.data) === crc ? records : undefined
}

export class Assembler {
  readonly #uuid: string
  #next: number
  /** Whether a message was added. The first one may be packed, and begin with records before `next`. */
  #hasBegun = false
  #parts: Uint8Array[] = []
  #bytes = 0

  /** Assembles the records of the log `uuid` from seq `next` on. */
  constructor(uuid: string, next: number) {
    this.#uuid = uuid
    this.#next = next
  }

  /** The seq of the next record. */
  get next(): number {
    return this.#next
  }

  /**
   * Returns the records that this message completes; none if more parts follow. `sequence` is its sequence in the
   * stream.
   */
  add(headers: MsgHdrs | undefined, data: Uint8Array, sequence: number): readonly RestoredRecord[] {
    if (isDeletionMarker(headers)) return NONE
    const part = parseMessage(headers, data.length)
    if (part === undefined) throw foreign(sequence, 'was not published by durlog')
    if (part.claimedBy !== undefined && part.uuid === this.#uuid) {
      // The former writer may have stored only the first parts of a record.
      this.#parts = []
      this.#bytes = 0
      return NONE
    }
    this.#check(part, sequence)
    this.#hasBegun = true
    if (part.baseMs !== undefined) return this.#unpack(part, data, sequence)
    if (!part.whole || this.#bytes > 0) {
      this.#parts.push(data)
      this.#bytes += data.length
      if (!part.whole) return NONE
    }
    const record = { seq: part.seq, data: this.#take(data), timestamp: part.timestamp }
    if (recordCrc(this.#uuid, record.seq, record.timestamp, record.data) !== part.crc) throw damaged(part.seq, sequence)
    this.#next++
    return [record]
  }

  #unpack(part: StoredPart, data: Uint8Array, sequence: number): readonly RestoredRecord[] {
    const records = unpack(part, data)
    if (records === undefined) throw damaged(part.seq, sequence)
    const wanted = records.slice(this.#next - part.first)
    this.#next = part.seq + 1
    return wanted
  }

  #check(part: StoredPart, sequence: number): void {
    if (part.uuid !== this.#uuid)
      throw foreign(sequence, `belongs to the log ${part.uuid}, but the previous messages belong to ${this.#uuid}`)
    if (part.voidFrom > this.#next) throw gapInStream(this.#next, part.voidFrom - 1)
    this.#next = Math.max(this.#next, part.first)
    const earliest = this.#hasBegun ? part.first : part.seq
    if (earliest < this.#next)
      throw foreign(sequence, `holds record ${earliest}; expected record ${this.#next}`, EarlierRecord)
    if (part.offset !== this.#bytes) throw damaged(part.seq, sequence)
  }

  #take(data: Uint8Array): Uint8Array {
    if (this.#bytes === 0) return data
    const whole = Buffer.concat(this.#parts, this.#bytes)
    this.#parts = []
    this.#bytes = 0
    return whole
  }
}

function foreign(sequence: number, reason: string, Kind: typeof DurlogError = DurlogError): DurlogError {
  return new Kind('ERR_DURLOG_DESTINATION_OTHER', `the message with the sequence ${sequence} ${reason}`)
}

function damaged(seq: number, sequence: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `record ${seq} (the message with the sequence ${sequence}) is not as it was shipped: its checksum is wrong, or a part is missing`,
    { lostFirst: seq, lostLast: seq },
  )
}
