/**
 * Publishes records, each directly after the one before it: the stream stores a message only if the subject's last message
 * has the sequence that the message names. Two ways:
 *
 * - Batches, one at a time, stored whole or not at all. The first message names the last one's sequence. What comes
 *   meanwhile forms the next batch.
 * - Single messages with several on their way. The first names the last one's sequence, each of the others the message id
 *   of the one before it, which must then be the last one of the whole stream. (Its sequence cannot be foretold: if
 *   something else was stored in between, the one after the next would be stored in its place.) If something else is
 *   stored, all that are on their way are refused, and fewer are sent ahead from then on. A stream of several replicas
 *   cannot compare a message with one that is on its way, so there it is one at a time.
 */
import type { MsgHdrs } from '@nats-io/transport-node'
import type { ShipOrigin, ShipRecord } from '../ship/types.js'
import type { LiveLink } from './link.js'
import { Header, type MessageShape, type RecordMessage, toMessages } from './message.js'
import type { Pace } from './pace.js'
import { Publications } from './publications.js'

export interface PublisherPlace {
  stream: string
  subject: string
  shape: MessageShape
  timeoutMs: number
  /** How many messages go together, or on their way. */
  pace: Pace
  makeHeaders: () => MsgHdrs
  inbox: string
}

export interface PublisherStart {
  /** The stream's sequence of the subject's last message; 0 if it has none. */
  lastSequence: number
  /** Of a record the first bytes of which are stored already. */
  begun: { seq: number; offset: number } | undefined
}

export class Publisher {
  readonly #place: PublisherPlace
  readonly #publications: Publications
  readonly #onFailed: (error: Error, pending: number) => void
  readonly #rejects = new Set<(error: Error) => void>()
  #failure: Error | undefined
  /** The sequence of the newest message that is acknowledged. */
  #last: number
  /** The id of the newest message that was sent. */
  #sentId = ''
  readonly #begun: PublisherStart['begun']
  #batches = 0

  /** `onFailed` is called once, with how many messages waited. */
  constructor(
    { nc }: LiveLink,
    place: PublisherPlace,
    start: PublisherStart,
    onFailed: (error: Error, pending: number) => void,
  ) {
    this.#place = place
    this.#onFailed = onFailed
    this.#last = start.lastSequence
    this.#begun = start.begun
    this.#publications = new Publications(nc, place.inbox, place.timeoutMs, (error) => this.#onFailure(error))
  }

  get room(): number {
    return this.#place.pace.room(this.#publications.pending)
  }

  get failed(): boolean {
    return this.#failure !== undefined
  }

  fail(error: Error): void {
    this.#publications.fail(error)
  }

  stop(): void {
    this.#publications.stop()
  }

  publish(records: readonly ShipRecord[], origin: ShipOrigin): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const messages = records.flatMap((record) => this.#messagesOf(record, origin))
    return new Promise((resolve, reject) => {
      this.#rejects.add(reject)
      const done = (): void => {
        this.#rejects.delete(reject)
        resolve()
      }
      if (this.#place.pace.inBatches) this.#sendBatches(messages, done)
      else this.#sendSingly(messages, done)
    })
  }

  #messagesOf(record: ShipRecord, origin: ShipOrigin): RecordMessage[] {
    const offset = record.seq === this.#begun?.seq ? this.#begun.offset : 0
    return toMessages(record, origin, this.#place.shape, offset)
  }

  /** In more than one batch if a record has more parts than a batch may have messages. */
  #sendBatches(messages: readonly RecordMessage[], done: () => void): void {
    const { pace, subject } = this.#place
    const batch = messages.slice(0, pace.batchMessages)
    const id = `${this.#place.inbox.slice(-22)}-${this.#batches++}`
    for (const [i, { headers, data }] of batch.entries()) {
      const own: [string, string][] = [
        [Header.batchId, id],
        [Header.batchSequence, String(i + 1)],
      ]
      if (i === 0) own.push(...this.#condition())
      if (i < batch.length - 1) {
        this.#publications.send(subject, data, this.#headers(headers, own))
        continue
      }
      own.push([Header.batchCommit, '1'])
      this.#publications.request(subject, data, this.#headers(headers, own), ({ seq, count }) => {
        if (count !== batch.length) {
          this.fail(new Error(`publishing: a batch of ${batch.length} messages was acknowledged as ${count}`))
          return
        }
        this.#last = seq
        pace.stored(batch.length)
        if (batch.length === messages.length) done()
        else this.#sendBatches(messages.slice(batch.length), done)
      })
    }
  }

  #sendSingly(messages: readonly RecordMessage[], done: () => void): void {
    for (const [i, { id, headers, data }] of messages.entries()) {
      const made = this.#headers(headers, this.#condition())
      this.#sentId = id
      this.#publications.request(this.#place.subject, data, made, ({ seq }) => {
        this.#last = seq
        this.#place.pace.stored(1)
        if (i === messages.length - 1) done()
      })
    }
  }

  /** That the message before it is the last one. */
  #condition(): [string, string][] {
    return [
      [Header.expectedStream, this.#place.stream],
      this.#publications.pending === 0
        ? [Header.expectedLast, String(this.#last)]
        : [Header.expectedLastId, this.#sentId],
    ]
  }

  #headers(...lists: (readonly [string, string][])[]): MsgHdrs {
    const made = this.#place.makeHeaders()
    for (const list of lists) for (const [name, value] of list) made.append(name, value)
    return made
  }

  #onFailure(error: Error): void {
    this.#failure = error
    this.#onFailed(error, this.#publications.pending)
    for (const reject of this.#rejects) reject(error)
    this.#rejects.clear()
  }
}
