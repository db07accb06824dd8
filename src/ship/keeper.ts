/** Trims records of the log that the destination has acknowledged: the option `keepAfterAck`. */
import { inspect, type Log } from '../index.js'
import type { ResolvedKeep } from './options.js'

/** The shortest interval between two trims. A trim removes only whole segments, so more frequent trims would rarely remove one. */
const INTERVAL_MS = 1000

export class Keeper {
  readonly #log: Log
  readonly #keep: ResolvedKeep
  #last = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined

  constructor(log: Log, keep: ResolvedKeep) {
    this.#log = log
    this.#keep = keep
  }

  /** Allows the removal of every record before `acknowledged`. If a trim fails, calls `onError`; a later call tries again. */
  acknowledged(acknowledged: number, onError: (error: unknown) => void): void {
    const now = performance.now()
    if (this.#running !== undefined || now - this.#last < INTERVAL_MS) return
    this.#last = now
    this.#running = this.#trim(acknowledged)
      .catch(onError)
      .finally(() => {
        this.#running = undefined
      })
  }

  /** Resolves when no trim is running. */
  async settled(): Promise<void> {
    await this.#running
  }

  async #trim(acknowledged: number): Promise<void> {
    const { maxAgeMs, maxBytes } = this.#keep
    let before = 0
    if (maxAgeMs !== undefined) before = await this.#log.seqAt(Math.max(0, Date.now() - maxAgeMs))
    if (maxBytes !== undefined) before = Math.max(before, await this.#firstWithin(maxBytes))
    before = Math.min(before, acknowledged)
    if (before > this.#log.firstSeq) await this.#log.trimBefore(before)
  }

  /** The first seq of the newest segments that take at most `maxBytes`. */
  async #firstWithin(maxBytes: number): Promise<number> {
    const { segments, nextSeq } = await inspect(this.#log.dir)
    let first = nextSeq
    let bytes = 0
    for (const segment of segments.toReversed()) {
      bytes += segment.allocatedBytes
      if (bytes > maxBytes) break
      first = segment.firstSeq
    }
    return first
  }
}
