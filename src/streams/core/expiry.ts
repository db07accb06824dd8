/**
 * Deletes expired streams. A deletion is an entry of the log, so that every replay decides alike. Streams whose oldest
 * records are too old become part of the next checkpoint, which drops these records.
 */

import { TimeSlice } from '../../support/time-slice.js'
import { clearInterval, setInterval } from '../../timers.js'
import { expires } from '../port/meta.js'
import { EntryKind } from '../state/entry.js'
import { hasOldFile } from '../state/retention.js'
import type { StreamState } from '../state/state.js'
import { bareItem } from './items.js'
import type { Sequencer } from './sequencer.js'

const SWEEP_MS = 1000
/** The number of deletions that one sweep begins. */
const SWEEP_STREAMS = 1000

export class Expiry {
  readonly #sequencer: Sequencer
  readonly #timer: NodeJS.Timeout
  readonly #onAged: () => void
  #sweeping = false
  #closed = false
  /** The streams whose deletions have not settled: while the log has no room, they would be submitted at each sweep. */
  readonly #removing = new Set<StreamState>()

  /** `onAged` is called after streams with old records became part of the next checkpoint. */
  constructor(sequencer: Sequencer, onAged: () => void) {
    this.#sequencer = sequencer
    this.#onAged = onAged
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS).unref()
  }

  /** The stream, if callers may see it and it has not expired. */
  find(name: string): StreamState | undefined {
    const state = this.#sequencer.table.find(name)
    return state?.isVisible === true && !this.#hasExpired(state) ? state : undefined
  }

  /** Deletes the stream if it has expired. The deletion is stored before the next submitted change. */
  removeIfExpired(name: string): void {
    const { table } = this.#sequencer
    if (table.expiring.size === 0) return
    const state = table.find(name)
    if (state !== undefined && !state.softDeleted && this.#hasExpired(state)) this.#remove(state)
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
  }

  /** A stream is in use while a reader waits for it. */
  #hasExpired(state: StreamState): boolean {
    const { meta, name } = state
    if (!expires(meta)) return false
    if (this.#sequencer.table.isWaitedFor(name)) state.use()
    return state.lifeMs <= 0
  }

  #remove(expired: StreamState): void {
    if (this.#removing.has(expired)) return
    this.#removing.add(expired)
    const { name } = expired
    // The deletion may wait behind appends that use the stream, or create a new one of the same name.
    const hasExpired = (): boolean => {
      const state = this.#sequencer.table.find(name)
      return state !== undefined && this.#hasExpired(state)
    }
    // After a failed write, the next sweep tries again.
    this.#sequencer.submit({ ...bareItem(EntryKind.delete, name), hasExpired }, undefined, (outcome) => {
      this.#removing.delete(expired)
      if (outcome instanceof Promise) outcome.catch(() => {})
    })
  }

  /** Does nothing while another sweep runs. */
  async #sweep(): Promise<void> {
    if (this.#sweeping) return
    this.#sweeping = true
    const slice = new TimeSlice()
    let count = 0
    let aged = false
    const { table } = this.#sequencer
    for (const state of table.expiring) {
      if (slice.isOver()) await slice.nextTurn()
      if (this.#closed || count === SWEEP_STREAMS) break
      if (state.softDeleted || state.removed) continue
      if (this.#hasExpired(state)) {
        this.#remove(state)
        count++
      } else if (hasOldFile(state, Date.now())) {
        table.touch(state)
        aged = true
      }
    }
    if (aged && !this.#closed) this.#onAged()
    this.#sweeping = false
  }
}
