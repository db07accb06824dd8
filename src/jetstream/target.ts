/** A destination of a log: a subject of a JetStream stream. */
import type { StoredMsg } from '@nats-io/jetstream'
import { DurlogError } from '../errors.js'
import { fencedError } from '../ship/fenced.js'
import type { ShipOrigin, ShippedRecord, ShipRecord, ShipTarget } from '../ship/types.js'
import { AckTimeout } from './ack-timeout.js'
import { announcedGeneration, ClaimWatch } from './claim-notice.js'
import { FlowControl } from './flow-control.js'
import { lastMessage } from './last-message.js'
import { isDeletionMarker, parseMessage, type StoredPart } from './message.js'
import { type LiveLink, NatsLink } from './nats-link.js'
import type { ResolvedShipOptions } from './options.js'
import { loadPeers } from './peers.js'
import { Publisher } from './publisher.js'
import { DuplicateMessage, StreamMissing } from './refusals.js'
import { findStream, missingError, type StreamFacts } from './stream.js'

/**
 * A stream counts as missing after this many requests, because a server that is starting may not know its streams yet.
 */
const QUESTIONS_UNTIL_MISSING = 4

export class JetStreamTarget implements ShipTarget {
  readonly #options: ResolvedShipOptions
  readonly #replicates: boolean
  readonly #link: NatsLink
  readonly #flow: FlowControl
  readonly #ackTimeout: AckTimeout
  /** The connection of the session. */
  #live: LiveLink | undefined
  #facts: StreamFacts | undefined
  #publisher: Publisher | undefined
  #claims: ClaimWatch | undefined
  #forgetLoss: () => void = () => {}
  /** The sequence of the subject's last message when it was last read; 0 if there was none. */
  #lastSequence = 0
  #missing = 0
  /** The number of times that message ids got a new suffix. */
  #renewals = 0
  #wasDuplicate = false

  /** With `replicates`, another copy of the log may take over. */
  constructor(options: ResolvedShipOptions, replicates = false) {
    this.#replicates = replicates
    this.#options = options
    this.#link = new NatsLink(options)
    this.#flow = new FlowControl(options.packs)
    this.#ackTimeout = new AckTimeout(options.timeoutMs)
  }

  get dropsOld(): boolean {
    return this.#facts?.dropsOld ?? false
  }

  get room(): number {
    // At least 1 if the publisher has failed, so that the next `publish` reports the failure.
    return this.#publisher === undefined || this.#publisher.failed ? 1 : this.#publisher.room
  }

  get mode(): string {
    return this.#facts === undefined ? 'unknown' : this.#flow.mode
  }

  get reconnects(): number {
    return this.#link.reconnects
  }

  async last(isFirst: boolean): Promise<ShippedRecord | undefined> {
    this.#endPublisher()
    try {
      return await this.#findLast(isFirst)
    } catch (error) {
      await this.#link.leaveAfter(error)
      throw error
    }
  }

  async announced({ uuid }: Pick<ShipOrigin, 'uuid'>): Promise<number | undefined> {
    const { stream } = this.#options
    const [live, facts] = [this.#live, this.#facts]
    if (live === undefined || facts === undefined) throw new Error('announced was called before last')
    return announcedGeneration(live, { stream, subject: facts.subject }, uuid)
  }

  publish(records: readonly ShipRecord[], origin: ShipOrigin): Promise<void> {
    const publisher = this.#publisher
    if (publisher === undefined) return Promise.reject(new Error('publish was called before last'))
    try {
      this.#claims?.onPublish(origin)
      return publisher.publish(records, origin)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async checkTrim(): Promise<void> {
    const live = this.#live
    if (live === undefined) throw new Error('there is no connection')
    await findStream(live, this.#options, { use: 'ship', trims: true })
  }

  close(): Promise<void> {
    return this.#link.close()
  }

  async #findLast(isFirst: boolean): Promise<StoredPart | undefined> {
    const live = await this.#link.open()
    this.#live = live
    const facts = await this.#findStream(live, isFirst)
    const found = await lastMessage(live, this.#options.stream, facts.subject)
    const part = found === null || isDeletionMarker(found.header) ? undefined : parse(found, facts.subject)
    this.#renewIds(found?.seq ?? 0)
    await this.#startPublisher(live, facts, part)
    return part
  }

  async #findStream(live: LiveLink, isFirst: boolean): Promise<StreamFacts> {
    const { replicas, create, stream, shipper } = this.#options
    const trims = shipper.keep !== undefined
    try {
      this.#facts = await findStream(live, this.#options, { use: 'ship', trims, replicas, create: create && isFirst })
    } catch (error) {
      if (!(error instanceof StreamMissing) || ++this.#missing < QUESTIONS_UNTIL_MISSING) throw error
      throw missingError(stream, isFirst ? 'create it, or ship with create: true (--create)' : WAS_DELETED, error)
    }
    this.#missing = 0
    this.#flow.facts = this.#facts
    return this.#facts
  }

  /**
   * Gives messages new ids if the server refused one as a duplicate although the subject's last message has not
   * changed: the server remembers an id for the stream's duplicate window, even after the message was removed.
   */
  #renewIds(lastSequence: number): void {
    if (this.#wasDuplicate && lastSequence === this.#lastSequence) this.#renewals++
    this.#wasDuplicate = false
    this.#lastSequence = lastSequence
  }

  async #startPublisher(live: LiveLink, facts: StreamFacts, part: StoredPart | undefined): Promise<void> {
    const { transport } = await loadPeers()
    const { stream, split, access } = this.#options
    const place = {
      stream,
      subject: facts.subject,
      shape: { maxBytes: facts.maxDataBytes, split, idSuffix: this.#renewals === 0 ? '' : `:again-${this.#renewals}` },
      ackTimeout: this.#ackTimeout,
      flow: this.#flow,
      inbox: transport.createInbox(access.inboxPrefix),
    }
    const begun = part === undefined || part.whole ? undefined : { seq: part.seq, offset: part.offset + part.partBytes }
    // A claim may have been stored and dropped since the stream was found.
    const mayMissClaim = this.#replicates && part === undefined && facts.dropsOld
    const streamSequence = mayMissClaim ? facts.lastSequence : undefined
    const start = { lastSequence: this.#lastSequence, streamSequence, begun }
    const publisher = new Publisher(live, place, start, (error, pending) => {
      this.#forgetLoss()
      this.#wasDuplicate = error instanceof DuplicateMessage
      this.#flow.failed(error, pending)
    })
    this.#publisher = publisher
    this.#claims = new ClaimWatch(live, place, (generation) => publisher.fail(fencedError(generation)))
    this.#forgetLoss = this.#link.onLost((error) => publisher.fail(error))
  }

  #endPublisher(): void {
    this.#forgetLoss()
    this.#publisher?.stop()
    this.#publisher = undefined
  }
}

const WAS_DELETED =
  'it was deleted after records had been shipped to it, or these are other servers. To ship the records again, create the stream by hand'

function parse(message: StoredMsg, subject: string): StoredPart {
  const part = parseMessage(message.header, message.data.length)
  if (part !== undefined) return part
  throw new DurlogError(
    'ERR_DURLOG_DESTINATION_OTHER',
    `the last message of ${subject} (sequence ${message.seq}) was not published by durlog: use a separate subject for the log`,
  )
}
