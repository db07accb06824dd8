/** Measures the number of records that the destination lacks, and the age of the oldest of them. */
import type { DurableCursor, Log, ReadableLog, ReadOnlyLog } from '../index.js'
import { frameBytes } from '../open.js'
import { clearInterval, setInterval } from '../timers.js'
import type { ShipLag } from './types.js'
import { timeFrom } from './voids.js'

const CHECK_MS = 500
const NO_LAG: ShipLag = { records: 0, bytes: 0, ms: 0 }

export class LagWatch {
  readonly #log: Log | ReadOnlyLog
  readonly #timer: NodeJS.Timeout
  #cursor: DurableCursor | undefined
  #isStopped = false
  #last = NO_LAG
  #lagging = false

  /**
   * `onLagging` is called when the oldest record has waited for `limitMs`, and again only after all records were
   * shipped.
   */
  constructor(log: ReadableLog, limitMs: number, onLagging: (lag: ShipLag) => void) {
    this.#log = log as Log | ReadOnlyLog
    this.#timer = setInterval(() => {
      const lag = this.lag
      const lagging = lag.ms > limitMs
      if (lagging && !this.#lagging) onLagging(lag)
      if (lagging || lag.records === 0) this.#lagging = lagging
    }, CHECK_MS).unref()
  }

  /** Sets the cursor whose position is the first record that is not shipped. */
  start(cursor: DurableCursor): void {
    this.#cursor = cursor
  }

  /** Calls `onLagging` no more. The lag keeps growing with the log. */
  stop(): void {
    clearInterval(this.#timer)
    this.#isStopped = true
  }

  get lag(): ShipLag {
    // The position is unknown until the cursor is open. If it could not be opened, no record is known to be shipped.
    if (this.#cursor === undefined && !this.#isStopped) return NO_LAG
    try {
      this.#last = this.#measure(this.#cursor?.position ?? 0)
    } catch {
      // The lag cannot be read while a trim or a cut is running, and after the log was closed.
    }
    return this.#last
  }

  #measure(position: number): ShipLag {
    const { firstSeq, syncedSeq } = this.#log.readOnly ? this.#log.stats() : this.#log
    const from = Math.max(position, firstSeq)
    if (from > syncedSeq) return NO_LAG
    const oldest = timeFrom(this.#log, from)
    if (oldest === undefined) return NO_LAG
    const bytes = frameBytes(this.#log.dir, from, syncedSeq)
    // Not negative: the clock may have been set back.
    return { records: syncedSeq + 1 - from, bytes, ms: Math.max(0, Date.now() - oldest) }
  }
}
