/** The source of a log that another process or thread writes: the live page of its writer, or the files alone. */
import { replacedError } from '../errors.js'
import { Counter, type NativeWriter } from '../native/log.js'
import { native } from '../native/native.js'
import {
  LIVE_FIELD_COUNT,
  LiveField,
  type NativeBounds,
  type NativeLivePage,
  type NativeLogReader,
} from '../native/reading.js'
import { clearTimeout, clock, queueMicrotask, setTimeout } from '../timers.js'
import { LaterCuts } from './later-cuts.js'
import { checkHeld, type ReadCounts, type ReadRange, type ReadSource } from './read-source.js'
import { Truncation } from './truncation.js'

/** The interval at which a follower of a log without a page checks for new records. It doubles after each check. */
const FIRST_POLL_MS = 5
const MAX_POLL_MS = 50
/**
 * The interval while the page shows that no writer has the log open: a program may copy new segments into the folder.
 */
const UNLOCKED_POLL_MS = 1000
/**
 * Without a page, finding the synced end reads the last segment. The interval limits these reads to this share of the
 * time.
 */
const MAX_BOUNDS_SHARE = 0.2

/**
 * Keeps sources with followers alive: a caller may hold only the promise of its next record, which only the source can
 * settle.
 */
const followed = new Set<FolderSource>()

/**
 * A reader that waits for a cut after `seen`, and for an end above `limit` or, if the page is unlocked, for another
 * `session`.
 */
interface Follower {
  limit: number
  durableOnly: boolean
  seen: Truncation
  session: number
  done: () => void
}

export class FolderSource implements ReadSource {
  readonly dir: string
  readonly uuid: string
  readonly salvage: boolean
  readonly counts: ReadCounts = { readRecords: 0, readBytes: 0 }
  lastTruncation: Truncation = new Truncation(Number.POSITIVE_INFINITY)
  /** The bounds from `open` or the last `refresh`, lowered by later cuts and updated by `lookAtBounds`. */
  bounds: NativeBounds
  #ended = false
  readonly #followers = new Set<Follower>()
  /** Whether the page has been watched. A change before the first watch wakes no follower. */
  #watched = false
  /** The limits of the watch that will call `changed`; undefined if there is none. */
  #pending: { memoryEnd: number; syncedEnd: number } | undefined
  readonly #page: NativeLivePage
  readonly #fields = new Float64Array(LIVE_FIELD_COUNT)
  readonly #laterCuts = new LaterCuts()
  /** The counters of this process's writer of a shared log; undefined if this process only reads it. */
  readonly #counters: Float64Array | undefined

  /** The source of a shared log that this process writes together with others. */
  static ofWriter(dir: string, salvage: boolean, { counters, uuid, generation }: NativeWriter): FolderSource {
    const [firstSeq, nextSeq] = [counters[Counter.firstSeq] as number, counters[Counter.nextSeq] as number]
    const bounds = { firstSeq, nextSeq, syncedEnd: counters[Counter.syncedEnd] as number, uuid, generation }
    return new FolderSource(dir, salvage, bounds, counters)
  }

  constructor(dir: string, salvage: boolean, bounds: NativeBounds, counters?: Float64Array) {
    this.dir = dir
    this.#counters = counters
    this.salvage = salvage
    this.uuid = bounds.uuid
    this.bounds = bounds
    // A weak reference, so that a log that is never closed can be garbage-collected.
    const weak = new WeakRef(this)
    this.#page = native.openLivePage(dir, () => weak.deref()?.changed())
    this.look()
  }

  get ended(): boolean {
    return this.#ended
  }

  hold(): () => void {
    return this.#laterCuts.hold()
  }

  /** Readers that still deliver records use the last fields of the page, and learn of later cuts. */
  end(): void {
    if (this.#ended) return
    this.look()
    this.#ended = true
    // A reader that its caller has abandoned keeps the page, but must not keep the process alive.
    this.#page.unwatch()
    this.#laterCuts.begin(() => this.#page)
    for (const follower of this.#followers) follower.done()
    this.#followers.clear()
    followed.delete(this)
  }

  async refresh(): Promise<void> {
    let seen: Truncation
    do {
      seen = this.lastTruncation
      const bounds = await native.bounds(this.dir)
      if (bounds.uuid !== this.uuid) throw replacedError(this.dir)
      this.bounds = bounds
      this.look()
    } while (this.lastTruncation !== seen)
  }

  look(): void {
    if (!this.#ended) this.#page.look(this.#fields)
    const cut = this.#ended ? this.#laterCuts.take() : this.#field('cut')
    if (cut === Number.POSITIVE_INFINITY) return
    if (this.#ended) this.#lowerEnds(cut)
    this.lastTruncation = this.lastTruncation.followedBy(cut)
    // Readers use `bounds` if the page becomes invalid, so it must not include the records that were cut.
    const { nextSeq, syncedEnd } = this.bounds
    this.bounds = { ...this.bounds, nextSeq: Math.min(nextSeq, cut), syncedEnd: Math.min(syncedEnd, cut) }
  }

  /** Without an end for later records: the fields of the page are not read any more. */
  #lowerEnds(cut: number): void {
    for (const end of [LiveField.memoryEnd, LiveField.syncedEnd])
      this.#fields[end] = Math.min(this.#fields[end] as number, cut)
  }

  /** Updates `bounds` if the page is valid; returns whether it is. */
  lookAtBounds(): boolean {
    this.look()
    if (this.#ended || !this.#isValid()) return false
    const [firstSeq, nextSeq] = [this.#field('firstSeq'), this.#field('memoryEnd')]
    this.bounds = { ...this.bounds, firstSeq, nextSeq, syncedEnd: this.#field('syncedEnd') }
    return true
  }

  /** The commits as of the last `look`. */
  commits(): { commits: number | undefined; commitTotalMicros: number } {
    return { commits: this.#field('commits') || undefined, commitTotalMicros: this.#field('commitMicros') }
  }

  /** Returns at once: a writer publishes a cut before the cut begins, so `look` has already reported it. */
  async settled(): Promise<void> {}

  async range(durableOnly: boolean): Promise<ReadRange> {
    this.look()
    const pendingEnd = Math.max(this.seqs().next, this.#counters?.[Counter.nextSeq] ?? 0)
    if (this.#isValid()) return { limit: this.followLimit(durableOnly), pendingEnd, ...this.seqs() }
    await this.refresh()
    const { firstSeq, nextSeq, syncedEnd } = this.bounds
    return { first: firstSeq, limit: durableOnly ? syncedEnd : nextSeq, next: nextSeq }
  }

  seqs(): { first: number; next: number } {
    if (this.#isValid()) return { first: this.#field('firstSeq'), next: this.#field('memoryEnd') }
    return { first: this.bounds.firstSeq, next: this.bounds.nextSeq }
  }

  limitFor(seq: number): number {
    this.look()
    if (!this.#isValid()) return -1
    const limit = this.#field('memoryEnd')
    checkHeld(seq, this.#field('firstSeq'), limit)
    return limit
  }

  followLimit(durableOnly: boolean): number {
    if (this.#isValid()) return this.#field(durableOnly ? 'syncedEnd' : 'memoryEnd')
    return durableOnly ? this.bounds.syncedEnd : -1
  }

  onMore(
    reader: Pick<NativeLogReader, 'poll'>,
    limit: number,
    durableOnly: boolean,
    done: (error?: unknown) => void,
  ): () => void {
    if (!this.#isValid() || this.#ended) return this.#pollFiles(reader, limit, durableOnly, done)
    const follower = { limit, durableOnly, seen: this.lastTruncation, session: 0, done }
    if (!this.#add(follower)) return this.#pollFiles(reader, limit, durableOnly, done)
    return () => this.#remove(follower)
  }

  /** Returns false if there is no free thread or file descriptor for watching. The follower has to poll then. */
  #add(follower: Follower): boolean {
    this.#followers.add(follower)
    try {
      if (!this.#isPendingFor(follower)) this.#watch()
    } catch {
      this.#followers.delete(follower)
      return false
    }
    if (!this.#watched) queueMicrotask(() => this.changed())
    this.#watched = true
    return true
  }

  /** A watch for a limit that no follower has any more only calls `changed` too early. */
  #isPendingFor({ limit, durableOnly, session }: Follower): boolean {
    if (this.#pending === undefined || session !== this.#field('unlockedSession')) return false
    return this.#pending[durableOnly ? 'syncedEnd' : 'memoryEnd'] <= limit
  }

  #remove(follower: Follower): void {
    if (this.#followers.delete(follower) && this.#followers.size === 0) this.#watch()
  }

  /** Wakes the followers that have records to read, or whose log was cut. */
  changed(): void {
    this.look()
    for (const follower of this.#followers) {
      if (this.#waits(follower)) continue
      this.#followers.delete(follower)
      follower.done()
    }
    this.#watch()
  }

  #waits({ limit, durableOnly, seen, session }: Follower): boolean {
    if (this.lastTruncation !== seen || this.#field('unlockedSession') !== session) return false
    return session !== 0 || (this.#isValid() && this.followLimit(durableOnly) <= limit)
  }

  /** Watches the page for the lowest limits of all followers. */
  #watch(): void {
    this.#pending = undefined
    if (this.#ended) return
    let memoryEnd = Number.POSITIVE_INFINITY
    let syncedEnd = Number.POSITIVE_INFINITY
    let isOutdated = false
    for (const { limit, durableOnly, session } of this.#followers) {
      if (session !== this.#field('unlockedSession')) isOutdated = true
      if (durableOnly) syncedEnd = Math.min(syncedEnd, limit)
      else memoryEnd = Math.min(memoryEnd, limit)
    }
    // The watch would wait for the next session.
    if (isOutdated) queueMicrotask(() => this.changed())
    if (this.#followers.size === 0) {
      followed.delete(this)
      this.#page.unwatch()
    } else {
      this.#page.watch(memoryEnd, syncedEnd)
      this.#pending = { memoryEnd, syncedEnd }
      followed.add(this)
    }
  }

  /**
   * Without a valid page, only the files show whether there are more records. Polls while a writer may have the log
   * open.
   */
  #pollFiles(
    reader: Pick<NativeLogReader, 'poll'>,
    limit: number,
    durableOnly: boolean,
    done: (error?: unknown) => void,
  ): () => void {
    let cancelled = false
    let timer: NodeJS.Timeout
    let intervalMs = FIRST_POLL_MS
    const cancel = (): void => {
      cancelled = true
      clearTimeout(timer)
      this.#remove(follower)
    }
    const finish = (error?: unknown): void => {
      cancel()
      done(error)
    }
    const follower = { limit, durableOnly, seen: this.lastTruncation, session: 0, done: finish }
    const arrived = async (): Promise<boolean> => {
      if (this.#ended) return true
      this.look()
      if (this.lastTruncation !== follower.seen || this.#isValid()) return true
      follower.session = this.#field('unlockedSession')
      intervalMs = Math.min(2 * intervalMs, MAX_POLL_MS)
      if (!durableOnly) return reader.poll()
      const start = clock.now()
      await this.refresh()
      intervalMs = Math.max(intervalMs, (clock.now() - start) / MAX_BOUNDS_SHARE)
      return this.bounds.syncedEnd > limit
    }
    const look = async (): Promise<void> => {
      try {
        const found = await arrived()
        if (cancelled) return
        if (found) return finish()
        // In the same session as before the check, no writer has appended since.
        const unlocked = follower.session !== 0 && this.#waits(follower)
        timer = setTimeout(look, unlocked && this.#add(follower) ? UNLOCKED_POLL_MS : intervalMs)
      } catch (error) {
        if (!cancelled) finish(error)
      }
    }
    timer = setTimeout(look, intervalMs)
    return cancel
  }

  #isValid(): boolean {
    return this.#field('isValid') === 1
  }

  #field(name: keyof typeof LiveField): number {
    return this.#fields[LiveField[name]] as number
  }
}
