/** How many messages are sent ahead of their acknowledgements, by what the stream has taken so far. */
import { ShipConflict } from '../ship/conflict.js'
import { DuplicateMessage } from './refusals.js'
import type { StreamFacts } from './stream.js'

/** What a server takes in one batch unless it is configured to take less. */
const MAX_BATCH_MESSAGES = 1000

export class Pace {
  #facts: Pick<StreamFacts, 'atomicBatches' | 'replicated'> = { atomicBatches: false, replicated: false }
  /** Single messages on their way. */
  #window: number = Number.MAX_SAFE_INTEGER
  #batch = MAX_BATCH_MESSAGES
  /** The next message goes alone: its answer says what is wrong, where that of a batch may not. */
  #alone = false

  /** What the stream is, at the beginning of a session. */
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
    if (this.#facts.atomicBatches) return `atomic batches of up to ${this.#batch}`
    return this.#facts.replicated
      ? 'single messages one at a time: allow the stream atomic batches (allow_atomic) to ship faster'
      : 'single messages, several on their way'
  }

  /** How many more records may be published while `pending` messages wait for an answer, and `queued` for their batch. */
  room(pending: number, queued: number): number {
    if (this.#alone || (this.#facts.replicated && !this.inBatches)) return pending + queued === 0 ? 1 : 0
    if (this.inBatches) return Math.max(0, this.#batch - queued)
    return Math.max(0, this.#window - pending)
  }

  stored(messages: number): void {
    this.#alone = false
    if (!this.inBatches && this.#window < Number.MAX_SAFE_INTEGER) this.#window += messages / this.#window
  }

  /** A session has ended with `error` while `pending` messages waited. */
  failed(error: Error, pending: number): void {
    if (error instanceof ShipConflict) {
      // Others publish into the stream.
      if (!this.inBatches) this.#window = Math.max(1, Math.floor(Math.min(this.#window, pending) / 2))
      return
    }
    if (!this.inBatches || error instanceof DuplicateMessage) return
    if (/too large/.test(error.message)) this.#batch = Math.max(1, Math.floor(this.#batch / 2))
    else this.#alone = true
  }
}
