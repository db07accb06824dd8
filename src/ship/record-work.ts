/**
 * Ships single records to a ShipTarget. A session begins by asking the target for its last record. Publishes that were not
 * acknowledged when it ends are forgotten, because the next session asks again.
 */
import { isCode } from '../errors.js'
import type { Log, ReadableLog, ReadOnlyLog } from '../index.js'
import type { ResolvedShipperOptions } from './options.js'
import { recordCrc } from './record-crc.js'
import { Session } from './session.js'
import { gapError, type Start, whereToStart } from './start.js'
import type { ShipTarget } from './types.js'
import type { Work, WorkSession } from './work.js'

export class RecordWork implements Work {
  /** A cut of shipped records ends the shipper. */
  readonly isCurrent = true
  readonly #log: Log | ReadOnlyLog
  readonly #target: ShipTarget
  readonly #options: ResolvedShipperOptions
  #session: Session | undefined
  /** The lowest seq that was cut from the log after the cursor had passed it. */
  #cutAt = Number.POSITIVE_INFINITY
  /** A start after lost records that no stored record names yet, although the cursor has passed them. */
  #gap: Start | undefined

  constructor(log: ReadableLog, target: ShipTarget, options: ResolvedShipperOptions) {
    this.#log = log as Log | ReadOnlyLog
    this.#target = target
    this.#options = options
  }

  get inFlight(): number {
    return this.#session?.inFlight ?? 0
  }

  get mode(): string {
    return this.#target.mode
  }

  get reconnects(): number {
    return this.#target.reconnects
  }

  async run(session: WorkSession): Promise<void> {
    const { cursor, signal } = session
    const start = await this.#findStart(session)
    if (signal.aborted) return
    this.#reportGap(start, session)
    if (start.seq !== cursor.position || this.#cutAt !== Number.POSITIVE_INFINITY) await cursor.seek(start.seq)
    this.#cutAt = Number.POSITIVE_INFINITY
    session.onStart(start.seq - 1)
    const origin = { uuid: this.#log.uuid, generation: cursor.generation }
    const running = new Session(this.#target, origin, this.#options, {
      start,
      onShipped: (seq, records, bytes) => {
        this.#gap = undefined
        session.onCarried(seq, records, bytes)
      },
    })
    this.#session = running
    try {
      await running.ship(cursor.read({ follow: true, durableOnly: true, onGap: () => running.noteDamage() }))
    } finally {
      this.#session = undefined
    }
  }

  failed(error: Error): void {
    if (isCode(error, 'ERR_DURLOG_CURSOR_CUT')) this.#cutAt = Math.min(this.#cutAt, error.lostFirst as number)
  }

  flush(): void {
    // A record is published as soon as it can be read.
  }

  async end(waitMs: number): Promise<void> {
    await this.#session?.end(waitMs)
  }

  close(): Promise<void> {
    return this.#target.close()
  }

  async #findStart(session: WorkSession): Promise<Start> {
    const { cursor } = session
    await this.#findCut(session)
    const last = await this.#target.last(session.isFirst)
    // This follows `last`, because another shipper of the same log may have shipped its newest record just now.
    if (this.#log.readOnly) await this.#log.refresh()
    const { uuid, firstSeq, nextSeq } = this.#log
    const held = last !== undefined && last.uuid === uuid && last.seq >= firstSeq && last.seq < nextSeq
    const crc = held ? await this.#crcOf(last.seq) : undefined
    const { dropsOld } = this.#target
    const facts = { uuid, first: firstSeq, next: nextSeq, last, crc, position: cursor.position, cutAt: this.#cutAt }
    const start = whereToStart({ ...facts, dropsOld })
    return last === undefined && start.seq === this.#gap?.seq ? this.#gap : start
  }

  async #crcOf(seq: number): Promise<number> {
    const { data, timestamp } = await this.#log.get(seq)
    return recordCrc(this.#log.uuid, seq, timestamp, data)
  }

  /** Finds a cut of shipped records, also one that was made while no shipper ran. */
  async #findCut({ cursor }: WorkSession): Promise<void> {
    const reader = cursor.read({ durableOnly: true })
    await reader.next().catch((error: Error) => this.failed(error))
    await reader.return()
  }

  #reportGap({ seq, lostFrom }: Start, session: WorkSession): void {
    if (lostFrom >= seq) return
    if (!this.#options.skipGaps) throw gapError(lostFrom, seq - 1, 'skip them with skipGaps (--skip-gaps)')
    this.#gap = { seq, lostFrom }
    session.onGap(lostFrom, seq - 1)
  }
}
