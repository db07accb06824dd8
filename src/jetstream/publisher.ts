/**
 * Publishes records, each directly after the previous one: each message carries the condition under which the server
 * stores it, such as the expected sequence of the subject's last message. There are two ways:
 *
 * - Atomic batches, one at a time, each stored whole or not at all. The first message of a batch carries the sequence
 *   of the last stored message, which is known only after the previous batch was acknowledged. Records that arrive
 *   meanwhile form the next batch, whose messages are prepared in advance.
 * - Single messages, several in flight. The first message carries the sequence of the last stored message. Each later
 *   one carries the message id of the previous message, which must then be the last message of the whole stream. It
 *   cannot carry a sequence: if a message of another publisher came in between, the predicted sequence would be wrong
 *   by one, and a later message could be stored at the wrong place. If another message does come in between, the server
 *   refuses all messages in flight, and fewer are sent in advance afterwards. A stream with several replicas cannot
 *   compare with a message that is still being replicated, so only one message is in flight.
 *
 * Packed messages are single messages. Records that arrive while messages are in flight collect in a run, which becomes
 * a message when it is full, or when nothing is in flight.
 */
import type { ShipOrigin, ShipRecord } from '../ship/types.js'
import type { AckTimeout } from './ack-timeout.js'
import type { FlowControl } from './flow-control.js'
import { checkSize, Header, type MessageShape, type RecordMessage, Run, toMessages } from './message.js'
import type { LiveLink } from './nats-link.js'
import { Publications } from './publications.js'
import { headerLines, rawHeaders } from './raw-headers.js'

export interface PublisherPlace {
  stream: string
  subject: string
  shape: MessageShape
  ackTimeout: AckTimeout
  flow: FlowControl
  inbox: string
}

export interface PublisherStart {
  /** The sequence in the stream of the subject's last message; 0 if the subject has none. */
  lastSequence: number
  /** If set, the first message is stored only if the last message of the stream had this sequence. */
  streamSequence: number | undefined
  /** A record of which only the first parts are stored. */
  begun: { seq: number; offset: number } | undefined
}

/** A message that waits for its batch, or for room. */
interface Queued extends RecordMessage {
  /** Called after the message is stored. */
  done?: () => void
}

/** The records that the next packed message collects. */
interface OpenRun {
  run: Run
  origin: ShipOrigin
  /** Called after the last record of the run is stored. */
  dones: (() => void)[]
}

export class Publisher {
  readonly #place: PublisherPlace
  readonly #publications: Publications
  readonly #onFailed: (error: Error, pending: number) => void
  readonly #rejects = new Set<(error: Error) => void>()
  #failure: Error | undefined
  /** The sequence of the newest acknowledged message. */
  #last: number
  /** The id of the last message that was sent. */
  #sentId = ''
  readonly #start: PublisherStart
  #batches = 0
  readonly #queue: Queued[] = []
  #open: OpenRun | undefined

  /** `onFailed` is called at most once, with the number of messages that waited for their acknowledgement. */
  constructor(
    { nc }: LiveLink,
    place: PublisherPlace,
    start: PublisherStart,
    onFailed: (error: Error, pending: number) => void,
  ) {
    this.#place = place
    this.#onFailed = onFailed
    this.#last = start.lastSequence
    this.#start = start
    this.#publications = new Publications(nc, place.inbox, place.ackTimeout, (error) => this.#onFailure(error))
  }

  get room(): number {
    const { flow } = this.#place
    return flow.packs ? Number.POSITIVE_INFINITY : flow.room(this.#publications.pending, this.#queue.length)
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
    const { flow, shape } = this.#place
    for (const record of records) checkSize(record, shape)
    return new Promise((resolve, reject) => {
      this.#rejects.add(reject)
      const done = (): void => {
        this.#rejects.delete(reject)
        resolve()
      }
      if (flow.packs) {
        this.#pack(records, origin, done)
        return
      }
      const messages = records.flatMap((record) => this.#messagesOf(record, origin))
      if (flow.inBatches) this.#enqueue(messages, done)
      else this.#sendSingly(messages, done)
    })
  }

  #pack(records: readonly ShipRecord[], origin: ShipOrigin, done: () => void): void {
    const { flow, shape } = this.#place
    for (const record of records) {
      if (this.#open !== undefined && !this.#takes(this.#open.run, record)) this.#closeRun()
      this.#open ??= { run: new Run(Math.min(shape.maxBytes, flow.packBytes)), origin, dones: [] }
      this.#open.run.add(record)
    }
    this.#open?.dones.push(done)
    this.#sendRuns()
  }

  /** The record whose first parts are stored stays alone. */
  #takes(run: Run, record: ShipRecord): boolean {
    return run.records[0]?.seq !== this.#start.begun?.seq && run.takes(record)
  }

  /** Puts the messages of the collected records into the queue. */
  #closeRun(): void {
    if (this.#open === undefined) return
    const { run, origin, dones } = this.#open
    this.#open = undefined
    const messages =
      run.records.length === 1
        ? this.#messagesOf(run.records[0] as ShipRecord, origin)
        : [run.toMessage(origin, this.#place.shape.idSuffix)]
    const done = (): void => {
      for (const each of dones) each()
    }
    for (const [i, message] of messages.entries())
      this.#queue.push(i < messages.length - 1 ? message : { ...message, done })
  }

  #sendRuns(): void {
    while (this.#failure === undefined && this.#place.flow.mayAdd(this.#publications.pending)) {
      if (this.#queue.length === 0 && this.#publications.pending === 0) this.#closeRun()
      const next = this.#queue.shift()
      if (next === undefined) return
      this.#sendSingle(next, () => {
        // First the next messages: the server waits for them.
        this.#sendRuns()
        next.done?.()
      })
    }
  }

  #messagesOf(record: ShipRecord, origin: ShipOrigin): RecordMessage[] {
    const { begun } = this.#start
    const offset = record.seq === begun?.seq ? begun.offset : 0
    return toMessages(record, origin, this.#place.shape, offset)
  }

  #enqueue(messages: readonly RecordMessage[], done: () => void): void {
    for (const message of messages.slice(0, -1)) this.#queue.push(message)
    this.#queue.push({ ...(messages.at(-1) as RecordMessage), done })
    if (this.#publications.pending === 0) this.#sendBatch()
  }

  /**
   * Sends a batch of queued messages. A record with more parts than a batch may have messages takes several batches.
   */
  #sendBatch(): void {
    const { flow, subject } = this.#place
    const batch = this.#queue.splice(0, flow.batchMessages)
    const id = `${this.#place.inbox.slice(-22)}-${this.#batches++}`
    // nats-server with `sync_interval: always` stores a batch of one message in four times the time of the message
    // alone.
    const isAlone = batch.length === 1
    for (const [i, { headers, data }] of batch.entries()) {
      let own = isAlone ? '' : `${Header.batchId}: ${id}\r\n${Header.batchSequence}: ${i + 1}\r\n`
      if (i === 0) own += this.#condition()
      if (i < batch.length - 1) {
        this.#publications.send(subject, data, rawHeaders(headers + own))
        continue
      }
      if (!isAlone) own += `${Header.batchCommit}: 1\r\n`
      this.#publications.request(subject, data, rawHeaders(headers + own), ({ seq, count }) => {
        if (!isAlone && count !== batch.length) {
          this.fail(new Error(`publishing: a batch of ${batch.length} messages was acknowledged as ${count}`))
          return
        }
        this.#last = seq
        flow.stored(batch.length)
        if (this.#queue.length > 0) this.#sendBatch()
        for (const { done } of batch) done?.()
      })
    }
  }

  #sendSingly(messages: readonly RecordMessage[], done: () => void): void {
    const last = messages.length - 1
    for (const [i, message] of messages.entries()) this.#sendSingle(message, i === last ? done : () => {})
  }

  #sendSingle({ id, headers, data }: RecordMessage, onStored: () => void): void {
    const made = headers + this.#condition()
    this.#sentId = id
    this.#publications.request(this.#place.subject, data, rawHeaders(made), ({ seq }) => {
      this.#last = seq
      this.#place.flow.stored(1)
      onStored()
    })
  }

  /** Returns the headers with which the server stores the next message only if it directly follows the previous one. */
  #condition(): string {
    const { lastSequence, streamSequence } = this.#start
    const isAfterId = this.#publications.pending > 0
    const inStream = isAfterId || this.#last !== lastSequence ? undefined : streamSequence
    return headerLines([
      [Header.expectedStream, this.#place.stream],
      isAfterId ? [Header.expectedLastId, this.#sentId] : [Header.expectedLast, String(this.#last)],
      ...(inStream === undefined ? [] : ([[Header.expectedLastInStream, String(inStream)]] as [string, string][])),
    ])
  }

  #onFailure(error: Error): void {
    this.#failure = error
    this.#onFailed(error, this.#publications.pending)
    for (const reject of this.#rejects) reject(error)
    this.#rejects.clear()
  }
}
