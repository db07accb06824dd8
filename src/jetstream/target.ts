/** A subject of a JetStream stream as the destination of a log. */
import type { StoredMsg } from '@nats-io/jetstream'
import { DurlogError } from '../errors.js'
import type { ShipOrigin, ShippedRecord, ShipRecord, ShipTarget } from '../ship/types.js'
import { Link, type LiveLink } from './link.js'
import { parseMessage, type StoredPart } from './message.js'
import type { ResolvedShipOptions } from './options.js'
import { Pace } from './pace.js'
import { loadPeers } from './peers.js'
import { Publisher } from './publisher.js'
import { DuplicateMessage, fromClientError, StreamMissing } from './refusals.js'
import { findStream, missingError, type StreamFacts } from './stream.js'

/** A server that starts may not know its streams yet: it is asked so often, with pauses, before a stream counts as deleted. */
const ASKED_FOR_MISSING_STREAM = 4

export class JetStreamTarget implements ShipTarget {
  readonly #options: ResolvedShipOptions
  readonly #link: Link
  readonly #pace = new Pace()
  #facts: StreamFacts | undefined
  #publisher: Publisher | undefined
  #forgetLoss: () => void = () => {}
  /** The sequence of the subject's last message when it was asked for. */
  #lastSequence = 0
  #missing = 0
  /** How often message ids had to be made new. */
  #renewals = 0
  #wasDuplicate = false

  constructor(options: ResolvedShipOptions) {
    this.#options = options
    this.#link = new Link(options)
  }

  get dropsOld(): boolean {
    return this.#facts?.dropsOld ?? false
  }

  get room(): number {
    // A publisher that has failed takes records, and rejects them.
    return this.#publisher === undefined || this.#publisher.failed ? 1 : this.#publisher.room
  }

  get mode(): string {
    return this.#facts === undefined ? 'unknown' : this.#pace.mode
  }

  get reconnects(): number {
    return this.#link.reconnects
  }

  async last(isFirst: boolean): Promise<ShippedRecord | undefined> {
    this.#endPublisher()
    const live = await this.#link.open()
    const facts = await this.#findStream(live, isFirst)
    const found = await lastMessage(live, this.#options.stream, facts.subject)
    const part = found === null ? undefined : parse(found, facts.subject)
    this.#renewIds(found?.seq ?? 0)
    await this.#startPublisher(live, facts, part)
    return part
  }

  publish(records: readonly ShipRecord[], origin: ShipOrigin): Promise<void> {
    const publisher = this.#publisher
    if (publisher === undefined) return Promise.reject(new Error('the destination was not asked for its last record'))
    try {
      return publisher.publish(records, origin)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  close(): Promise<void> {
    return this.#link.close()
  }

  async #findStream(live: LiveLink, isFirst: boolean): Promise<StreamFacts> {
    const { replicas, create, stream } = this.#options
    try {
      this.#facts = await findStream(live, this.#options, { replicas, create: create && isFirst })
    } catch (error) {
      if (!(error instanceof StreamMissing) || ++this.#missing < ASKED_FOR_MISSING_STREAM) throw error
      throw missingError(stream, error)
    }
    this.#missing = 0
    this.#pace.facts = this.#facts
    return this.#facts
  }

  /** A message that is a duplicate and not there was removed: its id is remembered for the stream's duplicate window. */
  #renewIds(lastSequence: number): void {
    if (this.#wasDuplicate && lastSequence === this.#lastSequence) this.#renewals++
    this.#wasDuplicate = false
    this.#lastSequence = lastSequence
  }

  async #startPublisher(live: LiveLink, facts: StreamFacts, part: StoredPart | undefined): Promise<void> {
    const { transport } = await loadPeers()
    const { stream, timeoutMs, split, access } = this.#options
    const place = {
      stream,
      subject: facts.subject,
      shape: { maxBytes: facts.maxDataBytes, split, idSuffix: this.#renewals === 0 ? '' : `:again-${this.#renewals}` },
      timeoutMs,
      pace: this.#pace,
      inbox: transport.createInbox(access.inboxPrefix),
    }
    const begun = part === undefined || part.whole ? undefined : { seq: part.seq, offset: part.offset + part.partBytes }
    const publisher = new Publisher(live, place, { lastSequence: this.#lastSequence, begun }, (error, pending) => {
      this.#forgetLoss()
      this.#wasDuplicate = error instanceof DuplicateMessage
      this.#pace.failed(error, pending)
    })
    this.#publisher = publisher
    this.#forgetLoss = this.#link.onLost((error) => publisher.fail(error))
  }

  #endPublisher(): void {
    this.#forgetLoss()
    this.#publisher?.stop()
    this.#publisher = undefined
  }
}

/** The subject's last message, of the stream's leader: another replica may lag. */
export async function lastMessage(live: LiveLink, stream: string, subject: string): Promise<StoredMsg | null> {
  try {
    return await live.manager.streams.getMessage(stream, { last_by_subj: subject })
  } catch (error) {
    throw fromClientError(error, `asking for the last message of ${subject}`)
  }
}

function parse(message: StoredMsg, subject: string): StoredPart {
  const part = parseMessage(message.header, message.data.length)
  if (part !== undefined) return part
  throw new DurlogError(
    'ERR_DURLOG_DESTINATION_OTHER',
    `the last message of ${subject} (sequence ${message.seq}) is not durlog's: give the log a subject of its own`,
  )
}
