/** Trims records of the log that the destination has acknowledged: the option `keepAfterAck`. */
import { inspect } from '../index.js'
import { trimFound, type WriterLog } from '../open.js'
import { clock } from '../timers.js'
import type { Destination } from './destination.js'
import type { ResolvedKeep } from './options.js'

/**
 * The shortest interval between two trims. A trim removes only whole segments, so more frequent trims would rarely
 * remove one.
 */
const INTERVAL_MS = 1000

type TrimmedFor = Pick<Destination, 'neededFrom' | 'checkTrim'>

export class Trimmer {
  readonly #log: WriterLog
  readonly #keep: ResolvedKeep
  readonly #cursor: string
  readonly #destination: TrimmedFor
  #last = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined

  /**
   * The records before the position of the cursor named `cursor` are acknowledged. Those that the destination reads
   * again stay nevertheless.
   */
  constructor(log: WriterLog, keep: ResolvedKeep, cursor: string, destination: TrimmedFor) {
    this.#log = log
    this.#keep = keep
    this.#cursor = cursor
    this.#destination = destination
  }

  /**
   * More records were acknowledged: trims if it is time to do so. If a trim fails, calls `onError`; a later call tries
   * again.
   */
  acknowledged(onError: (error: unknown) => void): void {
    const now = clock.now()
    if (this.#running !== undefined || now - this.#last < INTERVAL_MS) return
    this.#last = now
    this.#running = this.#trim()
      .catch(onError)
      .finally(() => {
        this.#running = undefined
      })
  }

  /** Resolves when no trim is running. */
  async settled(): Promise<void> {
    await this.#running
  }

  async #trim(): Promise<void> {
    const { maxAgeMs, maxBytes } = this.#keep
    let before = 0
    if (maxAgeMs !== undefined) before = await this.#log.seqAt(Math.max(0, Date.now() - maxAgeMs))
    if (maxBytes !== undefined) before = Math.max(before, await this.#firstWithin(maxBytes))
    if (before <= this.#log.firstSeq) return
    await this.#destination.checkTrim?.()
    // The cursor is read directly before the trim, because `truncateAfter` may give the seqs of acknowledged records to
    // others.
    await trimFound(this.#log, async () => {
      const acknowledged = Math.min(before, await this.#firstUnacknowledged(), this.#destination.neededFrom)
      return { before: acknowledged, regardless: acknowledged }
    })
  }

  /** Returns 0 if acknowledged records were truncated: the shipper then finds the new position. */
  async #firstUnacknowledged(): Promise<number> {
    const cursor = (await this.#log.cursors()).find(({ name }) => name === this.#cursor)
    return cursor?.state === 'ready' ? cursor.position : 0
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
