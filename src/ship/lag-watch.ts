/** Measures the number of records that the destination lacks, and the age of the oldest of them. */
import type { DurableCursor, ReadableLog } from '../index.js'
import { clearInterval, setInterval } from '../timers.js'
import type { ShipLag } from './types.js'
import { timeFrom } from './voids.js'

const CHECK_MS = 500
const NO_LAG: ShipLag = { records: 0, bytes: 0, ms: 0 }

export class LagWatch {
  readonly #log: ReadableLog
  readonly #timer: NodeJS.Timeout
  #cursor: DurableCursor | undefined
  #lagging = false

  /**
   * `onLagging` is called when the oldest record has waited for `limitMs`, and again only after all records were
   * shipped.
   */
  constructor(log: ReadableLog, limitMs: number, onLagging: (lag: ShipLag) => void) {
    this.#log = log
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

  stop(): void {
    clearInterval(this.#timer)
    this.#cursor = undefined
  }

  get lag(): ShipLag {
    const cursor = this.#cursor
    if (cursor === undefined) return NO_LAG
    try {
      const { records, bytes } = cursor.lag
      if (records === 0) return NO_LAG
      const oldest = timeFrom(this.#log, Math.max(cursor.position, this.#log.firstSeq))
      if (oldest === undefined) return NO_LAG
      // Not negative: the clock may have been set back.
      return { records, bytes, ms: Math.max(0, Date.now() - oldest) }
    } catch {
      // The lag cannot be read while a trim or a cut is running.
      return NO_LAG
    }
  }
}
