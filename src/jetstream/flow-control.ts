/**
 * Decides how many messages may wait for their acknowledgements, from the properties of the stream and its past
 * responses.
 */
import { ShipConflict } from '../ship/conflict.js'
import { DuplicateMessage, Unanswered } from './refusals.js'
import type { StreamFacts } from './stream.js'

/** A server's default limit for the messages of one batch. A server can be configured with a lower limit. */
const MAX_BATCH_MESSAGES = 1000
/** The number of messages by which batches grow after each stored batch, up to the limit. */
const BATCH_GROWTH_MESSAGES = 10

/** The longest packed message. Longer ones are not faster, and delay the acknowledgement of their first records. */
const MAX_PACK_BYTES = 2 ** 20
/** The bytes by which packed messages grow after each stored message, up to the limit. */
const PACK_GROWTH_BYTES = 2 ** 16

export class FlowControl {
  /** Whether several records are packed into one message. */
  readonly packs: boolean
  #facts: Pick<StreamFacts, 'atomicBatches' | 'replicated'> = { atomicBatches: false, replicated: false }
  /** The number of single messages that may wait for their acknowledgements at the same time. */
  #window: number = Number.MAX_SAFE_INTEGER
  #packBytes = MAX_PACK_BYTES
  /** Whether other publishers use the stream. Then one packed message is in flight: more would be refused each time. */
  #isShared = false
  /** The server's limit for the messages of one batch, as far as it is known. */
  #batchLimit = MAX_BATCH_MESSAGES
  /** The largest number of messages in the next batch. It is below the limit if the server or the network is slow. */
  #batch = MAX_BATCH_MESSAGES
  /**
   * Whether the next message is sent alone after a refused batch, because the error of a batch may not contain the
   * reason.
   */
  #alone = false

  constructor(packs: boolean) {
    this.packs = packs
  }

  /** Must be set at the beginning of each session. */
  set facts(facts: StreamFacts) {
    this.#facts = facts
  }

  get inBatches(): boolean {
    // A batch of packed messages was no faster than the messages alone.
    return this.#facts.atomicBatches && !this.#alone && !this.packs
  }

  get batchMessages(): number {
    return this.#batch
  }

  /** The longest data of the next packed message. It is below the limit if the server or the network is slow. */
  get packBytes(): number {
    return this.#packBytes
  }

  get mode(): string {
    if (this.packs) return `packed messages, ${this.#facts.replicated || this.#isShared ? 'one' : 'several'} at a time`
    if (this.#facts.atomicBatches) return `atomic batches of up to ${this.#batchLimit}`
    return this.#facts.replicated
      ? 'single messages, one at a time: set allow_atomic on the stream to ship faster, in atomic batches'
      : 'single messages, several at a time'
  }

  /**
   * The number of further records that may be published while `pending` messages wait for an acknowledgement and
   * `queued` messages wait for their batch.
   */
  room(pending: number, queued: number): number {
    if (this.#alone || (this.#facts.replicated && !this.inBatches)) return pending + queued === 0 ? 1 : 0
    if (this.inBatches) return Math.max(0, this.#batch - queued)
    return Math.max(0, this.#window - pending)
  }

  /** Whether one more single message may be sent while `pending` messages wait for an acknowledgement. */
  mayAdd(pending: number): boolean {
    return this.#facts.replicated || this.#isShared ? pending === 0 : pending < this.#window
  }

  stored(messages: number): void {
    this.#alone = false
    this.#packBytes = Math.min(MAX_PACK_BYTES, this.#packBytes + PACK_GROWTH_BYTES)
    if (this.inBatches) this.#batch = Math.min(this.#batchLimit, this.#batch + BATCH_GROWTH_MESSAGES)
    else if (this.#window < Number.MAX_SAFE_INTEGER) this.#window += messages / this.#window
  }

  /** A session ended with `error` while `pending` messages waited. */
  failed(error: Error, pending: number): void {
    if (error instanceof DuplicateMessage) return
    const tooMuch = error instanceof Unanswered
    if (error instanceof ShipConflict) this.#isShared = true
    if (tooMuch) this.#packBytes = Math.floor(this.#packBytes / 2)
    if (!this.inBatches) {
      // A conflict shows that other publishers use the stream.
      if (tooMuch || error instanceof ShipConflict)
        this.#window = Math.max(1, Math.floor(Math.min(this.#window, pending) / 2))
    } else if (tooMuch) {
      this.#batch = Math.max(1, Math.floor(this.#batch / 2))
    } else if (/too large/.test(error.message)) {
      this.#batchLimit = Math.max(1, Math.floor(this.#batchLimit / 2))
      this.#batch = Math.min(this.#batch, this.#batchLimit)
    } else if (!(error instanceof ShipConflict)) {
      this.#alone = true
    }
  }
}
