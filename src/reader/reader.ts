/** Iterates over records in decoded batches. The next batch is fetched while the caller consumes the current one. */
import { atCaller } from '../caller-stack.js'
import { type DurlogError, isCode, outOfRange } from '../errors.js'
import { onAbort } from '../options/abort-signal.js'
import { resolveReadOptions } from '../options/call-options.js'
import type { Codec } from '../options/encoding.js'
import { Turns } from '../support/turns.js'
import type { LogReader, LogRecord, ReadOptions, TimePoint } from '../types.js'
import { BatchFetcher, type Fetch, type ReadBatch } from './batch-fetcher.js'
import { BatchMemory } from './batch-memory.js'
import { BufferedReader, DONE } from './buffered-reader.js'
import { DecodedBatch } from './decoded-batch.js'
import type { ReadSource } from './read-source.js'
import type { Truncation } from './truncation.js'

/** Ends the watches of readers that their callers have abandoned without `return`. */
const abandoned = new FinalizationRegistry<() => void>((unwatch) => unwatch())

export class Reader extends BufferedReader<LogRecord> implements LogReader {
  readonly #source: ReadSource
  readonly #options: ReturnType<typeof resolveReadOptions>
  readonly #seqAt: (time: TimePoint) => Promise<number>
  readonly #durableOnly: boolean
  /** The batch that is being consumed. */
  readonly #batch: DecodedBatch
  #fetcher: BatchFetcher | undefined
  /** The seq at which the iteration begins. */
  #begin = 0
  /** The seq after the newest batch from the core's reader. */
  #position = 0
  /** The seq before which the iteration ends because of `to` or `until`. */
  #stop: number
  /**
   * Without `follow`: the log's end when reading began. The core gets it as a limit, to distinguish a lost record from
   * the end.
   */
  #end = Number.POSITIVE_INFINITY
  #seenTruncation: Truncation
  #filling: Promise<void> | undefined
  /** Stops listening to `signal`, and tells the source that this reader delivers no more records. */
  readonly #unwatch: () => void
  /** Serves calls of `next` that wait for a batch in the order of the calls. */
  readonly #turns = new Turns()
  #wake: (() => void) | undefined
  #done = false
  #failure: { error: unknown } | undefined

  /** `seqAt` finds the first record at or after a time. */
  constructor(
    source: ReadSource,
    options: ReadOptions | undefined,
    seqAt: (time: TimePoint) => Promise<number>,
    codec?: Codec,
  ) {
    super({ nextLater: () => this.#nextLater(), take: (max) => this.#buffered(max) })
    this.#options = resolveReadOptions(options)
    const { to, durableOnly, signal } = this.#options
    this.#batch = new DecodedBatch(codec)
    this.#source = source
    this.#seenTruncation = source.lastTruncation
    this.#seqAt = seqAt
    this.#stop = to ?? Number.POSITIVE_INFINITY
    this.#durableOnly = durableOnly ?? false
    this.#unwatch = Reader.#watch(new WeakRef(this), source, signal)
    abandoned.register(this, this.#unwatch, this)
    if (signal?.aborted) this.#fail(signal.reason)
  }

  /** Returns `#unwatch`, which must not keep the reader: the signal and the source may outlive an abandoned one. */
  static #watch(reader: WeakRef<Reader>, source: ReadSource, signal: AbortSignal | undefined): () => void {
    const abort = (): void => {
      const alive = reader.deref()
      if (alive !== undefined) alive.#onAbort()
    }
    const ends = [onAbort(signal, abort), source.hold()]
    return () => ends.forEach((end) => void end())
  }

  #nextLater(): Promise<IteratorResult<LogRecord, undefined>> {
    return atCaller(this.#turns.take(() => this.#advance()))
  }

  nextBuffered(): LogRecord | undefined {
    return this.#turns.busy ? undefined : this.#take()
  }

  /** Takes the next decoded record; undefined if there is none, or if a cut may have removed it. */
  #take(): LogRecord | undefined {
    return this.#wasCut() ? undefined : this.#batch.take()
  }

  #wasCut(): boolean {
    return this.#source.lastTruncation !== this.#seenTruncation
  }

  #buffered(max: number): LogRecord[] {
    return this.#turns.busy || this.#wasCut() ? [] : this.#batch.takeUpTo(max)
  }

  async return(): Promise<IteratorResult<LogRecord, undefined>> {
    this.#finish()
    this.#wake?.()
    await this.#filling
    await this.#release()
    return DONE
  }

  async #advance(): Promise<IteratorResult<LogRecord, undefined>> {
    for (;;) {
      const record = this.#take()
      if (record !== undefined) return { done: false, value: record }
      if (this.#done) break
      this.#filling = this.#fill().catch((error: unknown) => this.#fail(error))
      await this.#filling
      this.#filling = undefined
    }
    const failure = this.#failure
    this.#failure = undefined
    await this.#release()
    if (failure !== undefined) throw failure.error
    return DONE
  }

  /** Installs the next batch, or finishes the iteration. */
  async #fill(): Promise<void> {
    if (this.#fetcher === undefined) await this.#open()
    while (!this.#done) {
      this.#source.look()
      if (this.#wasCut()) {
        await this.#afterTruncation()
        continue // there may have been another cut in the meantime
      }
      const { ended } = this.#source
      const limit = this.#limit()
      if (this.#position >= this.#stop) return this.#finish()
      if (limit !== -1 && this.#position >= limit) {
        await this.#more(limit, ended)
        continue
      }
      const fetch = (this.#fetcher as BatchFetcher).request(this.#position, limit)
      const batch = await this.#receive(fetch)
      if (this.#done) return
      if (batch === undefined || this.#wasCut()) continue
      if (batch.count > 0) return this.#install(fetch, batch)
      if (batch.needBytes > 0) {
        this.#fetcher?.memory.needs(batch.needBytes)
        continue
      }
      if (batch.nextSeq > this.#position) {
        this.#position = batch.nextSeq // only seqs without a record
        continue
      }
      if (fetch.limit !== limit) continue
      if (limit !== -1) throw outOfRange(`record ${this.#position} was cut from the log while it was read`)
      await this.#more(limit, ended)
    }
  }

  async #open(): Promise<void> {
    const batches = BatchMemory.make()
    for (let attempt = 1; ; ) {
      const { first, limit, next, pendingEnd: end = next } = await this.#source.range(this.#durableOnly)
      if (this.#done) return
      this.#seenTruncation = this.#source.lastTruncation
      const since = this.#options.since === undefined ? 0 : await this.#seqAt(this.#options.since)
      const until =
        this.#options.until === undefined ? Number.POSITIVE_INFINITY : await this.#seqAt(this.#options.until)
      // If the log was cut during these calls, the values above may be wrong for the shorter log.
      this.#source.look()
      if (this.#wasCut()) continue
      const { from: asked = first } = this.#options
      const begin = asked < 0 ? Math.max(first, Math.min(limit, this.#stop, until) + asked) : asked
      const from = Math.max(begin, since)
      if (from < first) throw outOfRange(`cannot read from ${from}: records before ${first} were trimmed`)
      if (from > end) throw outOfRange(`cannot read from ${from}: the log's next seq is ${end}`)
      this.#stop = Math.min(this.#stop, until)
      this.#begin = this.#position = from
      this.#batch.dropUntil(from)
      if (!this.#options.follow) this.#end = limit
      if (from >= Math.min(this.#stop, this.#end)) return this.#finish()
      try {
        await this.#openAt(from, await batches)
        return
      } catch (error) {
        // The log may have been trimmed after `range` returned its first seq. Unless `from` is a seq, get the new first
        // seq.
        if ((this.#options.from ?? -1) >= 0 || attempt++ === 3 || !isCode(error, 'ERR_DURLOG_OUT_OF_RANGE')) throw error
      }
    }
  }

  async #openAt(seq: number, memory: BatchMemory): Promise<void> {
    this.#fetcher = await BatchFetcher.open(this.#source, seq, memory, this.#options.follow === true)
  }

  #limit(): number {
    return this.#options.follow ? this.#source.followLimit(this.#durableOnly) : this.#end
  }

  /** Returns the requested batch; undefined if damage was skipped instead, or if a cut happened meanwhile. */
  async #receive(fetch: Fetch): Promise<ReadBatch | undefined> {
    try {
      const batch = await (this.#fetcher as BatchFetcher).take(fetch)
      this.#source.look()
      return batch
    } catch (error) {
      await this.#source.settled()
      if (this.#done) return undefined
      this.#source.look()
      if (this.#wasCut()) return undefined
      const skips = this.#options.salvage ?? this.#source.salvage
      if (!skips || !isCode(error, 'ERR_DURLOG_CORRUPT')) throw error
      await this.#skip(error)
      return undefined
    }
  }

  async #skip(error: DurlogError): Promise<void> {
    const next = await (this.#fetcher as BatchFetcher).reader.skipDamage()
    const first = this.#position
    if (next === -1) this.#finish()
    else {
      this.#position = next
      this.#batch.dropUntil(next)
    }
    this.#options.onGap?.({ first, last: next === -1 ? -1 : next - 1, error })
  }

  #install(fetch: Fetch, batch: ReadBatch): void {
    const fetcher = this.#fetcher as BatchFetcher
    fetcher.memory.giveBack(this.#batch.install(fetch.buffer, fetch.entries, batch, this.#stop))
    this.#position = batch.nextSeq
    this.#source.counts.readRecords += batch.count
    this.#source.counts.readBytes += fetcher.memory.keep(fetch.entries, batch.count)
    // Fetch the next batch ahead of the caller, unless the end has just been reached.
    const limit = this.#limit()
    const more = limit === -1 ? batch.count > 1 : this.#position < limit
    if (more && this.#position < this.#stop) fetcher.request(this.#position, limit)
  }

  /**
   * Waits until there may be records from `limit` on. Finishes instead if the reader does not follow or the log has
   * `ended`.
   */
  async #more(limit: number, ended: boolean): Promise<void> {
    if (!this.#options.follow || ended) return this.#finish()
    if (this.#fetcher?.memory.rest()) this.#batch.drop()
    await new Promise<void>((resolve, reject) => {
      const cancel = this.#source.onMore((this.#fetcher as BatchFetcher).reader, limit, this.#durableOnly, (error) => {
        this.#wake = undefined
        if (error === undefined) resolve()
        else reject(error)
      })
      this.#wake = () => {
        this.#wake = undefined
        cancel()
        resolve()
      }
    })
  }

  /** Discards the decoded records after a cut, because other records may have their seqs now, and reads them again. */
  async #afterTruncation(): Promise<void> {
    const next = this.#batch.nextSeq
    const cut = this.#seenTruncation.lowestLater()
    this.#seenTruncation = this.#source.lastTruncation
    this.#batch.drop()
    this.#position = next
    const memory = this.#fetcher?.memory
    await this.#release()
    if (this.#done) return
    if (next === this.#begin) return this.#open()
    if (next > cut)
      throw outOfRange(`the log was cut at ${cut}, and this reader has delivered ${next - 1}: read again from ${cut}`)
    // Exclude records appended after the cut: they are newer than the end when reading began, and than `until`.
    if (!this.#options.follow) this.#end = Math.min(this.#end, cut)
    if (this.#options.until !== undefined) this.#stop = Math.min(this.#stop, cut)
    await this.#openAt(next, memory ?? (await BatchMemory.make()))
  }

  #onAbort(): void {
    this.#fail(this.#options.signal?.reason)
    this.#wake?.()
  }

  #fail(error: unknown): void {
    if (this.#done) return
    this.#failure = { error }
    this.#finish()
  }

  #finish(): void {
    this.#done = true
    this.#batch.drop()
    // Electron does not end if the garbage collector has found an object with a registered call before it quits.
    abandoned.unregister(this)
    this.#unwatch()
  }

  async #release(): Promise<void> {
    const fetcher = this.#fetcher
    this.#fetcher = undefined
    await fetcher?.close()
  }
}
