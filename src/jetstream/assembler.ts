/** Converts the messages of a subject back to records: joins parts, checks each record, and rejects gaps. */
import type { MsgHdrs } from '@nats-io/transport-node'
import { DurlogError } from '../errors.js'
import { recordCrc } from '../ship/record-crc.js'
import { gapInStream } from './gap.js'
import { isDeletionMarker, parseMessage, type StoredPart } from './message.js'

export interface RestoredRecord {
  seq: number
  data: Uint8Array
  timestamp: number
}

export class Assembler {
  readonly #uuid: string
  #next: number
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
   * Returns the record that this message completes; undefined if more parts follow. `sequence` is its sequence in the
   * stream.
   */
  add(headers: MsgHdrs | undefined, data: Uint8Array, sequence: number): RestoredRecord | undefined {
    if (isDeletionMarker(headers)) return undefined
    const part = parseMessage(headers, data.length)
    if (part === undefined) throw foreign(sequence, 'was not published by durlog')
    if (part.claimedBy !== undefined && part.uuid === this.#uuid) {
      // The former writer may have stored only the first parts of a record.
      this.#parts = []
      this.#bytes = 0
      return undefined
    }
    this.#check(part, sequence)
    if (!part.whole || this.#bytes > 0) {
      this.#parts.push(data)
      this.#bytes += data.length
      if (!part.whole) return undefined
    }
    const record = { seq: part.seq, data: this.#take(data), timestamp: part.timestamp }
    if (recordCrc(this.#uuid, record.seq, record.timestamp, record.data) !== part.crc) throw damaged(part.seq, sequence)
    this.#next++
    return record
  }

  #check(part: StoredPart, sequence: number): void {
    if (part.uuid !== this.#uuid)
      throw foreign(sequence, `belongs to the log ${part.uuid}, but the previous messages belong to ${this.#uuid}`)
    if (part.voidFrom > this.#next) throw gapInStream(this.#next, part.voidFrom - 1)
    this.#next = Math.max(this.#next, part.seq)
    if (part.seq < this.#next) throw foreign(sequence, `holds record ${part.seq}; expected record ${this.#next}`)
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

function foreign(sequence: number, reason: string): DurlogError {
  return new DurlogError('ERR_DURLOG_DESTINATION_OTHER', `the message with the sequence ${sequence} ${reason}`)
}

function damaged(seq: number, sequence: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `record ${seq} (the message with the sequence ${sequence}) is not as it was shipped: its checksum is wrong, or a part is missing`,
    { lostFirst: seq, lostLast: seq },
  )
}
