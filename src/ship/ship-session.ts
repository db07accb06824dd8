/** Publishes the records of a reader to a ShipTarget until the first failure. */
import { DurlogError } from '../errors.js'
import type { LogReader, LogRecord } from '../index.js'
import { clearTimeout, setTimeout } from '../timers.js'
import type { ShipStart } from './start.js'
import type { ShipOrigin, ShipRecord, ShipTarget } from './types.js'

export interface SessionLimits {
  maxInFlight: number
  maxInFlightBytes: number
}

export interface SessionCalls {
  /** The first seq of the reader, and the first lost seq before it. */
  start: ShipStart
  /** `records` more records, up to `seq`, were acknowledged. */
  onShipped(seq: number, records: number, bytes: number): void
}

export class ShipSession {
  readonly #target: ShipTarget
  readonly #origin: ShipOrigin
  readonly #limits: SessionLimits
  readonly #calls: SessionCalls
  #reader: LogReader | undefined
  /** The seq of the next record if no seq is missing. */
  #next: number
  /** Missing seqs from this one on never held a record; missing seqs before it are lost records. */
  #voidFrom: number
  #inFlight = 0
  #inFlightBytes = 0
  #failure: { error: unknown } | undefined
  #ended = false
  /** Functions that are called after a publish has settled. */
  readonly #waiting = new Set<() => void>()

  constructor(target: ShipTarget, origin: ShipOrigin, limits: SessionLimits, calls: SessionCalls) {
    this.#target = target
    this.#origin = origin
    this.#limits = limits
    this.#calls = calls
    this.#next = calls.start.lostFrom
    this.#voidFrom = calls.start.seq
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /**
   * Publishes the records of `reader`. Resolves after `end`; rejects with the first failure. By then every publish has
   * settled.
   */
  async ship(reader: LogReader): Promise<void> {
    this.#reader = reader
    try {
      while (!this.#isOver()) {
        const room = this.#room()
        if (room === 0) await this.#settled()
        else await this.#shipSome(reader, room)
      }
    } catch (error) {
      this.#failure ??= { error }
    } finally {
      await reader.return()
      while (this.#inFlight > 0) await this.#settled()
    }
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /**
   * Ends the session: publishes nothing more, and waits for acknowledgements for up to `waitMs`, then closes the
   * target.
   */
  async end(waitMs: number): Promise<void> {
    await this.stop()
    if (this.#inFlight === 0) return
    const timer = setTimeout(() => void this.#target.close(), waitMs)
    while (this.#inFlight > 0) await this.#settled()
    clearTimeout(timer)
  }

  /** Publishes nothing more. `ship` resolves when every publish has settled. */
  async stop(): Promise<void> {
    this.#ended = true
    this.#wakeUp()
    await this.#reader?.return()
  }

  #isOver(): boolean {
    return this.#ended || this.#failure !== undefined
  }

  #room(): number {
    if (this.#inFlightBytes >= this.#limits.maxInFlightBytes) return 0
    return Math.max(0, Math.min(this.#target.room, this.#limits.maxInFlight - this.#inFlight))
  }

  #settled(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve))
  }

  #wakeUp(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  async #shipSome(reader: LogReader, room: number): Promise<void> {
    let record: LogRecord | undefined = reader.nextBuffered()
    if (record === undefined) {
      const result = await reader.next()
      if (result.done) {
        if (this.#isOver()) return
        throw new DurlogError('ERR_DURLOG_CLOSED', 'the log has been closed; open it and create a new shipper')
      }
      record = result.value
    }
    if (this.#isOver()) return
    const records: ShipRecord[] = []
    let bytes = 0
    const maxBytes = this.#limits.maxInFlightBytes - this.#inFlightBytes
    for (;;) {
      records.push(this.#withGap(record))
      bytes += record.data.length
      if (records.length >= room || bytes >= maxBytes) break
      record = reader.nextBuffered()
      if (record === undefined) break
    }
    this.#publish(records, bytes)
  }

  /** Notes that the reader has skipped damage: the seqs that are missing before the next record are lost records. */
  noteDamage(): void {
    this.#voidFrom = Number.POSITIVE_INFINITY
  }

  #withGap(record: LogRecord): ShipRecord {
    const gapFrom = this.#next
    const voidFrom = Math.min(this.#voidFrom, record.seq)
    this.#next = this.#voidFrom = record.seq + 1
    if (gapFrom === record.seq) return record
    return { ...record, ...(gapFrom < voidFrom && { gapFrom }), ...(voidFrom < record.seq && { voidFrom }) }
  }

  #publish(records: readonly ShipRecord[], bytes: number): void {
    this.#inFlight += records.length
    this.#inFlightBytes += bytes
    const settle = (): void => {
      this.#inFlight -= records.length
      this.#inFlightBytes -= bytes
      this.#wakeUp()
    }
    this.#target.publish(records, this.#origin).then(
      () => {
        // Records acknowledged after a failure do not follow the last shipped record directly, so they do not count.
        if (this.#failure === undefined)
          this.#calls.onShipped((records.at(-1) as ShipRecord).seq, records.length, bytes)
        settle()
      },
      (error: unknown) => {
        if (this.#failure === undefined) {
          this.#failure = { error }
          // End the reader, which would otherwise wait for the next record at the end of the log.
          void this.#reader?.return()
        }
        settle()
      },
    )
  }
}
