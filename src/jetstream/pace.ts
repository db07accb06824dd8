/** Decides how many messages are sent ahead of their acknowledgements, from what the stream has stored so far. */
import { ShipConflict } from '../ship/conflict.js'
import { DuplicateMessage, Unanswered } from './refusals.js'
import type { StreamFacts } from './stream.js'

/** A server's limit for one batch, unless it is configured to a lower one. */
const MAX_BATCH_MESSAGES = 1000
/** Added to the length of batches after each one that was stored, until the limit is reached. */
const BATCH_GROWTH_MESSAGES = 10

export class Pace {
  #facts: Pick<StreamFacts, 'atomicBatches' | 'replicated'> = { atomicBatches: false, replicated: false }
  /** Single messages that may wait for their acknowledgement at the same time. */
  #window: number = Number.MAX_SAFE_INTEGER
  #batchLimit = MAX_BATCH_MESSAGES
  /** Below the limit on a link or a server that is too slow for it. */
  #batch = MAX_BATCH_MESSAGES
  /** The next message is sent alone, because the refusal of a batch may not say the reason. */
  #alone = false

  /** Set at the beginning of each session. */
  set facts(facts: StreamFacts) {
    this.#facts = facts
  }

  get inBatches(): boolean {
    return this.#facts.atomicBatches && !this.#alone
  }

  get batchMessages(): number {
    return this.#batch
  }

  get mode(): string {
    if (this.#facts.atomicBatches) return `atomic batches of up to ${this.#batchLimit}`
    return this.#facts.replicated
      ? 'single messages one at a time: allow the stream atomic batches (allow_atomic) to ship faster'
      : 'single messages, several on their way'
  }

  /** How many more records may be published while `pending` messages wait for an acknowledgement, and `queued` for their batch. */
  room(pending: number, queued: number): number {
    if (this.#alone || (this.#facts.replicated && !this.inBatches)) return pending + queued === 0 ? 1 : 0
    if (this.inBatches) return Math.max(0, this.#batch - queued)
    return Math.max(0, this.#window - pending)
  }

  stored(messages: number): void {
    this.#alone = false
    if (this.inBatches) this.#batch = Math.min(this.#batchLimit, this.#batch + BATCH_GROWTH_MESSAGES)
    else if (this.#window < Number.MAX_SAFE_INTEGER) this.#window += messages / this.#window
  }

  /** A session ended with `error` while `pending` messages waited. */
  failed(error: Error, pending: number): void {
    if (error instanceof DuplicateMessage) return
    const tooMuch = error instanceof Unanswered
    if (!this.inBatches) {
      // A conflict means that others publish into the stream.
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
