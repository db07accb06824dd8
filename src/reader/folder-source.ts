/** What readers see of a log that another process or thread writes: its writer's page, or the files without one. */

import {
  LIVE_FIELD_COUNT,
  LiveField,
  type NativeBounds,
  type NativeCursor,
  type NativeLivePage,
  native,
} from '../native/native.js'
import { checkHeld, type ReadSource } from './read-source.js'
import { Truncation } from './truncation.js'

/** How often a follower looks whether something has been added. */
const POLL_INTERVAL_MS = 5
/** Without a page, looking what is synced reads the last segment: it takes at most this share of the time. */
const MAX_BOUNDS_SHARE = 0.2

export class FolderSource implements ReadSource {
  readonly dir: string
  readonly salvage: boolean
  lastTruncation: Truncation = new Truncation(Number.POSITIVE_INFINITY)
  /** What was found when the log was opened or last refreshed. */
  bounds: NativeBounds
  #ended = false
  readonly #page: NativeLivePage
  readonly #fields = new Float64Array(LIVE_FIELD_COUNT)

  constructor(dir: string, salvage: boolean, bounds: NativeBounds) {
    this.dir = dir
    this.salvage = salvage
    this.bounds = bounds
    this.#page = native.openLivePage(dir)
    this.look()
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Closes the page. What it said last stays in force for readers that finish what they have. */
  end(): void {
    if (this.#ended) return
    this.look()
    this.#ended = true
    this.#page.close()
  }

  async refresh(): Promise<void> {
    let seen: Truncation
    do {
      seen = this.lastTruncation
      this.bounds = await native.bounds(this.dir)
      this.look()
    } while (this.lastTruncation !== seen)
  }

  look(): void {
    if (this.#ended) return
    this.#page.look(this.#fields)
    const cut = this.#field('cut')
    if (cut === Number.POSITIVE_INFINITY) return
    this.lastTruncation = this.lastTruncation.followedBy(cut)
    // What was synced behind the cut is gone. Followers go by this where the page is lost.
    this.bounds = { ...this.bounds, syncedEnd: Math.min(this.bounds.syncedEnd, cut) }
  }

  /** A cut is told of before it begins, so none is waited for. */
  async settled(): Promise<void> {}

  async range(durableOnly: boolean): Promise<{ first: number; limit: number; next: number }> {
    this.look()
    if (this.#counts()) {
      const limit = this.followLimit(durableOnly)
      return { first: this.#field('firstSeq'), limit, next: this.#field('memoryEnd') }
    }
    await this.refresh()
    const { firstSeq, nextSeq, syncedEnd } = this.bounds
    return { first: firstSeq, limit: durableOnly ? syncedEnd : nextSeq, next: nextSeq }
  }

  limitFor(seq: number): number {
    this.look()
    if (this.#counts()) checkHeld(seq, this.#field('firstSeq'), this.#field('memoryEnd'))
    return -1
  }

  followLimit(durableOnly: boolean): number {
    if (this.#counts()) return this.#field(durableOnly ? 'syncedEnd' : 'memoryEnd')
    return durableOnly ? this.bounds.syncedEnd : -1
  }

  onMore(cursor: NativeCursor, limit: number, durableOnly: boolean, done: (error?: unknown) => void): () => void {
    let cancelled = false
    let timer: NodeJS.Timeout
    let intervalMs = POLL_INTERVAL_MS
    const { lastTruncation } = this
    const counted = this.#counts()
    const arrived = async (): Promise<boolean> => {
      if (this.#ended) return true
      this.look()
      if (this.lastTruncation !== lastTruncation || this.#counts() !== counted) return true
      if (counted) return this.followLimit(durableOnly) > limit
      if (!durableOnly) return cursor.poll()
      const start = performance.now()
      await this.refresh()
      intervalMs = Math.max(POLL_INTERVAL_MS, (performance.now() - start) / MAX_BOUNDS_SHARE)
      return this.bounds.syncedEnd > limit
    }
    const look = async (): Promise<void> => {
      try {
        const found = await arrived()
        if (cancelled) return
        if (found) done()
        else timer = setTimeout(look, intervalMs)
      } catch (error) {
        if (!cancelled) done(error)
      }
    }
    timer = setTimeout(look, intervalMs)
    return () => {
      cancelled = true
      clearTimeout(timer)
    }
  }

  #counts(): boolean {
    return this.#field('counts') === 1
  }

  #field(name: keyof typeof LiveField): number {
    return this.#fields[LiveField[name]] as number
  }
}
