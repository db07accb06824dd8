/** Finds the messages of a log's records in a stream. */
import { DurlogError } from '../errors.js'
import { isWhole } from '../options/checks.js'
import { recordCrc } from '../ship/record-crc.js'
import { unpack } from './assembler.js'
import { lastMessage } from './last-message.js'
import { isDeletionMarker, parseMessage, type StoredPart } from './message.js'
import type { LiveLink } from './nats-link.js'
import { askUntilAnswered } from './race.js'
import { fromClientError } from './refusals.js'

export interface Located {
  /** The sequence of the message in the stream. */
  sequence: number
  part: StoredPart
  data: Uint8Array
}

/** The checksum (see `recordCrc`) of record `seq` in a message; undefined if the message does not hold it. */
export function crcIn({ part, data }: Located, seq: number): number | undefined {
  if (part.seq === seq) return part.crc
  const record = part.baseMs === undefined ? undefined : unpack(part, data)?.[seq - part.first]
  return record && recordCrc(part.uuid, seq, record.timestamp, record.data)
}

/** The time of record `seq`, or of the first record of the message if that is later. */
export function timeIn({ part, data }: Located, seq: number): number {
  const record = part.baseMs === undefined ? undefined : unpack(part, data)?.[Math.max(0, seq - part.first)]
  return record?.timestamp ?? part.timestamp
}

export class StreamSeqs {
  readonly #live: LiveLink
  readonly #stream: string
  readonly #subject: string

  constructor(live: LiveLink, stream: string, subject: string) {
    this.#live = live
    this.#stream = stream
    this.#subject = subject
  }

  /** Finds the last message of the subject; undefined if the subject is empty. */
  async last(): Promise<Located | undefined> {
    const message = await lastMessage(this.#live, this.#stream, this.#subject)
    return message === null || isDeletionMarker(message.header) ? undefined : located(message)
  }

  /**
   * Finds the first message of record `seq`, or of the first record after it, up to `last`, the result of an earlier
   * call of `last`; undefined if there is none.
   */
  async find(seq: number, last: Located | undefined): Promise<Located | undefined> {
    if (last === undefined || last.part.seq < seq) return undefined
    // A binary search by sequence: the message is between `low` and `high`.
    let low = 1
    let high = last.sequence
    while (low < high) {
      const middle = low + Math.floor((high - low) / 2)
      const found = await this.#atOrAfter(middle, last.sequence)
      if (found === undefined || found.part.seq >= seq) high = middle
      else low = found.sequence + 1
    }
    return this.#atOrAfter(low, last.sequence)
  }

  /**
   * Finds the first message from which records can be read, from `found` up to `last`; undefined if there is none. A
   * stream that drops its oldest messages may have dropped the first parts of its oldest record, or the record before a
   * claim.
   */
  async readableFrom(found: Located | undefined, last: Located | undefined): Promise<Located | undefined> {
    let next = found
    while (last !== undefined && next !== undefined && (next.part.claimedBy !== undefined || next.part.offset > 0))
      next = await this.#atOrAfter(next.sequence + 1, last.sequence)
    return next
  }

  /** Finds the first message of a record from `sequence` up to `end`; undefined if there is none. */
  async #atOrAfter(sequence: number, end: number): Promise<Located | undefined> {
    try {
      for (let next = sequence; next <= end; ) {
        const query = { seq: next, next_by_subj: this.#subject }
        const message = await askUntilAnswered(() => this.#live.manager.streams.getMessage(this.#stream, query))
        if (message === null || message.seq > end) return undefined
        if (!(message.seq >= next))
          throw new Error(`the server has answered with the message ${message.seq}, not ${next}`)
        if (!isDeletionMarker(message.header)) return located(message)
        // Records may follow a deletion marker.
        next = message.seq + 1
      }
      return undefined
    } catch (error) {
      throw fromClientError(error, `looking for a record in ${this.#stream}`)
    }
  }
}

function located(message: NonNullable<Awaited<ReturnType<typeof lastMessage>>>): Located {
  const part = parseMessage(message.header, message.data.length)
  if (part !== undefined && isWhole(message.seq)) return { sequence: message.seq, part, data: message.data }
  throw new DurlogError(
    'ERR_DURLOG_DESTINATION_OTHER',
    `the message with the sequence ${message.seq} of ${message.subject} was not published by durlog`,
  )
}
