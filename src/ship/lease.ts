/**
 * The lease of a replicated log: a small value in the destination that the writer changes again and again. A standby
 * that has seen it unchanged for its duration takes it, and then takes over. The lease decides only when a standby
 * tries: the claim of the next generation decides who may write. So a wrong decision costs a needless or a late
 * takeover, and never a record.
 *
 * No clock of another machine plays a part. The age of a lease is the time, by the local monotonic clock, for which
 * this process has read the same value.
 */
import { randomUUID } from 'node:crypto'
import type { LeaseView } from '../index.js'
import type { Range } from '../options/checks.js'
import { clock, wait } from '../timers.js'
import { readCopy } from './copy.js'

/** The value of a lease. No two values of a lease are equal. */
export interface LeaseValue {
  /** The id of the holder: of one log object, or of one call of `standBy`. */
  owner: string
  /** The id of the copy of the log that the holder has. Earlier versions of durlog do not store it. */
  copy?: string | undefined
  /** Raised by each change. */
  beat: number
  /** The duration of the lease: it ends when its value has not changed for so long. */
  ms: number
}

export interface StoredLease extends LeaseValue {
  /** Identifies the value in the destination. */
  version: string
}

/** The place of one lease in a destination. Its methods throw any error if the destination gives no answer. */
export interface LeasePlace {
  /** Undefined if no process has ever held the lease. */
  read(): Promise<StoredLease | undefined>
  /**
   * Stores a value in place of the one with `version`, or the first value if that is undefined. Returns the version of
   * the new value; undefined if another value is there.
   */
  write(value: LeaseValue, version: string | undefined): Promise<string | undefined>
  close(): Promise<void>
}

/** The duration of a lease, by default. */
export const LEASE_MS = 15_000
/** The durations of leases. With a shorter one, holder and standbys would ask the destination without a pause. */
export const LEASE_RANGE: Range = { min: 100, max: 2 ** 31 - 1, unit: 'milliseconds' }
/** A holder renews the lease, and others read it, this many times in its duration. */
const LOOKS = 5
/**
 * Two consecutive reads of one value count as seeing it unchanged in between if no more than this part of the duration
 * lies between them. If the destination was away for longer, or this process was stopped, the holder gets a whole
 * duration to renew the lease.
 */
const LONGEST_GAP = 1 / 2

export class Lease {
  readonly #owner = randomUUID()
  readonly #place: LeasePlace
  /** The folder of this copy of the log. */
  readonly #dir: string
  /** The id of this copy of the log; undefined before the first look. */
  #copy: string | undefined
  /** The duration that this process stores; undefined for that of the value which it replaces. */
  readonly #ms: number | undefined
  #isHeld = false
  #role: 'standby' | 'opening' | 'writer'
  /** Whether the next look takes the lease from any holder. */
  #seizes = false
  #known: StoredLease | undefined
  /** Since when the value is known to be unchanged. */
  #since: number
  /** When the value was read last. */
  #readAt: number
  #error: Error | undefined
  readonly #closing = new AbortController()
  /** Ends the pause before the next look. */
  #hurry = new AbortController()
  #watching: Promise<void> | undefined

  /**
   * With `ms`, this process opens the copy of the log in `dir` for writing. Otherwise the copy is a standby. Before
   * `accepted`, it renews only a lease of the same copy: of the standby that has taken over, or of the writer that was
   * closed or has died.
   */
  constructor(place: LeasePlace, dir: string, ms?: number) {
    this.#place = place
    this.#dir = dir
    this.#ms = ms
    this.#role = ms === undefined ? 'standby' : 'opening'
    this.#since = this.#readAt = clock.now()
  }

  get view(): LeaseView {
    return { isHeld: this.#isHeld, ageMs: clock.now() - this.#since, ms: this.#known?.ms ?? 0, error: this.#error }
  }

  /** The pause after a look. */
  get #pauseMs(): number {
    return (this.#known?.ms ?? this.#ms ?? LEASE_MS) / LOOKS
  }

  /**
   * Renews the lease, or takes it if it has ended. Returns whether it is held. Throws if the destination gives no
   * answer.
   */
  async look(): Promise<boolean> {
    this.#copy ??= (await readCopy(this.#dir)).id
    if (this.#isHeld && (await this.#write())) return true
    const asked = clock.now()
    const found = await this.#place.read()
    const isSame = found?.version === this.#known?.version
    if (!isSame || asked - this.#readAt > this.#pauseMs * LOOKS * LONGEST_GAP) this.#since = clock.now()
    this.#readAt = asked
    this.#known = found
    // The answer to an earlier write may have been lost.
    this.#isHeld = found?.owner === this.#owner || (this.#mayTake(asked) && (await this.#write()))
    if (this.#isHeld) this.#seizes = false
    return this.#isHeld
  }

  /** The destination has accepted this process as the writer: it takes the lease from any holder, once. */
  accepted(): void {
    if (this.#role === 'writer') return
    this.#role = 'writer'
    this.#seizes = true
    this.#hurry.abort()
  }

  /** Looks until `close`, or until `onLook` returns false. */
  start(onLook: (isHeld: boolean) => boolean): void {
    this.#watching ??= this.#watch(onLook)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#hurry.abort()
    await this.#place.close()
    await this.#watching
  }

  async #watch(onLook: (isHeld: boolean) => boolean): Promise<void> {
    const { signal } = this.#closing
    // An open that takes less time needs no renewal. A process that fails again and again to open the log must not keep
    // the lease.
    if (this.#role === 'opening') await this.#pause()
    while (!signal.aborted) {
      // If the destination is away, the holder continues: it may still be the writer.
      this.#error = await this.look().then(
        () => undefined,
        (error: Error) => error,
      )
      if (signal.aborted || !onLook(this.#isHeld)) return
      await this.#pause()
    }
  }

  #pause(): Promise<void> {
    return wait(this.#pauseMs, { signal: this.#hurry.signal }).catch(() => {
      this.#hurry = new AbortController()
    })
  }

  /**
   * A standby never takes a lease that no writer has held: the writer may not use one. A writer stores it again if it
   * was removed.
   */
  #mayTake(asked: number): boolean {
    if (this.#seizes) return true
    if (this.#role === 'opening') return this.#known?.copy === this.#copy
    if (this.#known === undefined) return this.#role === 'writer'
    return asked - this.#since >= this.#known.ms
  }

  async #write(): Promise<boolean> {
    const ms = this.#ms ?? (this.#known as StoredLease).ms
    const value = { owner: this.#owner, copy: this.#copy, beat: (this.#known?.beat ?? 0) + 1, ms }
    const version = await this.#place.write(value, this.#known?.version)
    if (version === undefined) return false
    this.#seizes = false
    this.#known = { ...value, version }
    this.#since = this.#readAt = clock.now()
    return true
  }
}
