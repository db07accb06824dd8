/**
 * Publishes records, each directly after the one before it: the stream stores a message only if the subject's last message
 * has the sequence that the message names. Two ways:
 *
 * - Batches, one at a time, stored whole or not at all. The first message names the last one's sequence, which is not known
 *   before. What comes meanwhile forms the next batch, and is made ready to be sent.
 * - Single messages with several on their way. The first names the last one's sequence, each of the others the message id
 *   of the one before it, which must then be the last one of the whole stream. (Its sequence cannot be foretold: if
 *   something else was stored in between, the one after the next would be stored in its place.) If something else is
 *   stored, all that are on their way are refused, and fewer are sent ahead from then on. A stream of several replicas
 *   cannot compare a message with one that is on its way, so there it is one at a time.
 */
import type { ShipOrigin, ShipRecord } from '../ship/types.js'
import type { LiveLink } from './link.js'
import { Header, type MessageShape, type RecordMessage, toMessages } from './message.js'
import type { Pace } from './pace.js'
import { Publications } from './publications.js'
import { headerLines, rawHeaders } from './raw-headers.js'

export interface PublisherPlace {
  stream: string
  subject: string
  shape: MessageShape
  timeoutMs: number
  /** How many messages go together, or on their way. */
  pace: Pace
  inbox: string
}

export interface PublisherStart {
  /** The stream's sequence of the subject's last message; 0 if it has none. */
  lastSequence: number
  /** Of a record the first bytes of which are stored already. */
  begun: { seq: number; offset: number } | undefined
}

/** A message of a batch that has not been sent. */
interface Queued extends RecordMessage {
  /** Called once it is stored. */
  done?: () => void
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
  readonly #queue: Queued[] = []

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
    return this.#place.pace.room(this.#publications.pending, this.#queue.length)
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
      if (this.#place.pace.inBatches) this.#enqueue(messages, done)
      else this.#sendSingly(messages, done)
    })
  }

  #messagesOf(record: ShipRecord, origin: ShipOrigin): RecordMessage[] {
    const offset = record.seq === this.#begun?.seq ? this.#begun.offset : 0
    return toMessages(record, origin, this.#place.shape, offset)
  }

  #enqueue(messages: readonly RecordMessage[], done: () => void): void {
    for (const message of messages.slice(0, -1)) this.#queue.push(message)
    this.#queue.push({ ...(messages.at(-1) as RecordMessage), done })
    if (this.#publications.pending === 0) this.#sendBatch()
  }

  /** A record is in more than one batch if it has more parts than a batch may have messages. */
  #sendBatch(): void {
    const { pace, subject } = this.#place
    const batch = this.#queue.splice(0, pace.batchMessages)
    const id = `${this.#place.inbox.slice(-22)}-${this.#batches++}`
    for (const [i, { headers, data }] of batch.entries()) {
      let own = `${Header.batchId}: ${id}\r\n${Header.batchSequence}: ${i + 1}\r\n`
      if (i === 0) own += this.#condition()
      if (i < batch.length - 1) {
        this.#publications.send(subject, data, rawHeaders(headers + own))
        continue
      }
      own += `${Header.batchCommit}: 1\r\n`
      this.#publications.request(subject, data, rawHeaders(headers + own), ({ seq, count }) => {
        if (count !== batch.length) {
          this.fail(new Error(`publishing: a batch of ${batch.length} messages was acknowledged as ${count}`))
          return
        }
        this.#last = seq
        pace.stored(batch.length)
        if (this.#queue.length > 0) this.#sendBatch()
        for (const { done } of batch) done?.()
      })
    }
  }

  #sendSingly(messages: readonly RecordMessage[], done: () => void): void {
    for (const [i, { id, headers, data }] of messages.entries()) {
      const made = headers + this.#condition()
      this.#sentId = id
      this.#publications.request(this.#place.subject, data, rawHeaders(made), ({ seq }) => {
        this.#last = seq
        this.#place.pace.stored(1)
        if (i === messages.length - 1) done()
      })
    }
  }

  /** That the message before it is the last one. */
  #condition(): string {
    return headerLines([
      [Header.expectedStream, this.#place.stream],
      this.#publications.pending === 0
        ? [Header.expectedLast, String(this.#last)]
        : [Header.expectedLastId, this.#sentId],
    ])
  }

  #onFailure(error: Error): void {
    this.#failure = error
    this.#onFailed(error, this.#publications.pending)
    for (const reject of this.#rejects) reject(error)
    this.#rejects.clear()
  }
}
