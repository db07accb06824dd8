/**
 * Ships single records to a ShipTarget. A session begins by reading the target's last record. Publishes that were not
 * acknowledged when a session ends are forgotten, because the next session reads the last record again.
 */
import { isCode } from '../errors.js'
import type { Log, ReadableLog, ReadOnlyLog } from '../index.js'
import { encodingOfStreams } from '../streams/files/main-log.js'
import { readCopy } from './copy.js'
import type { Destination, ReplicationSession } from './destination.js'
import { fencedError } from './fenced.js'
import type { ResolvedShipperOptions } from './options.js'
import { recordCrc } from './record-crc.js'
import { ShipSession } from './ship-session.js'
import { gapError, type ShipStart, whereToStart } from './start.js'
import type { ShippedRecord, ShipTarget } from './types.js'

export class RecordDestination implements Destination {
  readonly #log: Log | ReadOnlyLog
  readonly #target: ShipTarget
  readonly #options: ResolvedShipperOptions
  readonly #replicates: boolean
  #session: ShipSession | undefined
  /** The log's generation when the session began. */
  #generation = -1
  /** The lowest shipped seq that was cut from the log; Infinity if there is none. */
  #cutAt = Number.POSITIVE_INFINITY
  /** The start after a gap that was reported but that no record in the destination names yet. */
  #gap: ShipStart | undefined

  /** With `replicates`, the destination serves the option `replicate` of the log. */
  constructor(log: ReadableLog, target: ShipTarget, options: ResolvedShipperOptions, replicates: boolean) {
    this.#replicates = replicates
    this.#log = log as Log | ReadOnlyLog
    this.#target = target
    this.#options = options
  }

  /** After a cut, records that were cut may be acknowledged; if one was, the next session ends the shipper. */
  get isUncut(): boolean {
    return this.#log.generation === this.#generation
  }

  get isCurrent(): boolean {
    return this.isUncut
  }

  get neededFrom(): number {
    return Number.POSITIVE_INFINITY
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

  async run(session: ReplicationSession): Promise<void> {
    const { cursor, signal } = session
    const start = await this.#findStart(session)
    const streams = await encodingOfStreams(this.#log.dir)
    const copy = this.#replicates ? (await readCopy(this.#log.dir)).id : undefined
    if (signal.aborted) return
    this.#reportGap(start, session)
    if (start.seq !== cursor.position || this.#cutAt !== Number.POSITIVE_INFINITY) await cursor.seek(start.seq)
    // Nothing is awaited between this check and the session that `end` ends: `close` may be called at any time.
    if (signal.aborted) return
    this.#cutAt = Number.POSITIVE_INFINITY
    this.#generation = this.#log.generation
    session.onStart(start.seq - 1)
    const origin = { uuid: this.#log.uuid, generation: cursor.generation, copy, streams }
    const running = new ShipSession(this.#target, origin, this.#options, {
      start,
      onShipped: (seq, records, bytes) => {
        this.#gap = undefined
        session.onReplicated(seq, records, bytes)
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

  send(): void {
    // As `flush`.
  }

  flush(): void {
    // Nothing to do: a record is published as soon as it can be read.
  }

  async checkTrim(): Promise<void> {
    await this.#target.checkTrim?.()
  }

  check(): void {
    // The next session reads the last record of the target.
    void this.#session?.stop()
  }

  async end(waitMs: number): Promise<void> {
    await this.#session?.end(waitMs)
  }

  close(): Promise<void> {
    return this.#target.close()
  }

  async #findStart(session: ReplicationSession): Promise<ShipStart> {
    const { cursor } = session
    await this.#findCut(session)
    // Records that are trimmed after `last` is read may have been shipped by another shipper: they are no gap.
    const { firstSeq } = this.#log
    const last = await this.#target.last(session.isFirst)
    if (last?.uuid === this.#log.uuid) await this.#checkOwner(last)
    if (last === undefined && this.#replicates) await this.#checkAnnounced()
    // Refresh after reading `last`: another shipper of the same log may have just shipped a record that `#log` does not
    // know yet.
    if (this.#log.readOnly) await this.#log.refresh()
    const { uuid, nextSeq } = this.#log
    const held = last !== undefined && last.uuid === uuid && last.seq >= this.#log.firstSeq && last.seq < nextSeq
    const crc = held ? await this.#crcOf(last.seq) : undefined
    const { dropsOld } = this.#target
    const facts = { uuid, first: firstSeq, next: nextSeq, last, crc, position: cursor.position, cutAt: this.#cutAt }
    const start = whereToStart({ ...facts, dropsOld })
    return last === undefined && start.seq === this.#gap?.seq ? this.#gap : start
  }

  /** Throws if another copy of the log has taken over at the destination. */
  async #checkOwner({ claimedBy, generation = 0 }: ShippedRecord): Promise<void> {
    const isOther =
      claimedBy === undefined
        ? this.#replicates && generation > this.#log.generation
        : claimedBy !== (await readCopy(this.#log.dir)).id
    if (isOther) throw fencedError(generation)
  }

  /** As `#checkOwner`, for a destination that may have dropped the claim. */
  async #checkAnnounced(): Promise<void> {
    const { generation } = this.#log
    const announced = (await this.#target.announced?.(this.#log)) ?? 0
    if (announced > generation) throw fencedError(announced)
  }

  async #crcOf(seq: number): Promise<number> {
    const { data, timestamp } = await this.#log.get(seq)
    return recordCrc(this.#log.uuid, seq, timestamp, data)
  }

  /** Finds a cut of shipped records, even if it was made while no shipper ran. */
  async #findCut({ cursor }: ReplicationSession): Promise<void> {
    const reader = cursor.read({ durableOnly: true })
    await reader.next().catch((error: Error) => this.failed(error))
    await reader.return()
  }

  #reportGap({ seq, lostFrom }: ShipStart, session: ReplicationSession): void {
    if (lostFrom >= seq) return
    if (!this.#options.skipGaps) throw gapError(lostFrom, seq - 1, 'skip them with skipGaps (--skip-gaps)')
    this.#gap = { seq, lostFrom }
    session.onGap(lostFrom, seq - 1)
  }
}
