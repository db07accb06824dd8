/**
 * Iterates over records, a decoded batch at a time, with the next batch fetched while one is consumed. One state machine
 * of batch, fetch and truncation, hence its length.
 */
import { atCaller } from '../caller-stack.js'
import { DurlogError, outOfRange } from '../errors.js'
import { native } from '../native/native.js'
import type { NativeBatch, NativeLogReader } from '../native/reading.js'
import { onAbort } from '../options/abort-signal.js'
import { resolveReadOptions } from '../options/call-options.js'
import { whole } from '../options/checks.js'
import type { Codec } from '../options/encoding.js'
import type { LogReader, LogRecord, ReadOptions } from '../types.js'
import { BatchMemory, ENTRY_NUMBERS } from './batch-memory.js'
import { RecordWithValue } from './decoded-record.js'
import type { ReadSource } from './read-source.js'
import type { Truncation } from './truncation.js'

/** A follower at most this far behind the end takes records that are in memory without a worker thread. */
const MAX_CACHED_RECORDS = 256
/** After that, one batch is read by a worker thread: otherwise the event loop might never turn. */
const MAX_CACHED_IN_ROW = 64
/** Makes a Buffer over existing memory without the checks of Buffer.from, which are half of a record's cost. */
const BufferOver = (Buffer as unknown as Record<symbol, unknown>)[Symbol.species] as new (
  memory: ArrayBufferLike,
  offset: number,
  length: number,
) => Buffer
/** The number of records that `batches` returns at once. */
const BATCH_RECORDS = { min: 1, max: 65_536, unit: 'records' }
const DEFAULT_BATCH_RECORDS = 1024
const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

interface Fetch {
  promise: Promise<NativeBatch>
  buffer: Buffer
  entries: Uint32Array
  limit: number
}

export class Reader implements LogReader {
  readonly #source: ReadSource
  readonly #from: number | undefined
  readonly #since: Date | number | undefined
  readonly #until: Date | number | undefined
  readonly #seqAt: (time: Date | number) => Promise<number>
  readonly #follow: boolean
  readonly #durableOnly: boolean
  readonly #salvage: boolean
  readonly #onGap: ReadOptions['onGap']
  readonly #signal: AbortSignal | undefined
  readonly #codec: Codec | undefined

  // The batch that is being consumed.
  #memory: ArrayBufferLike = new ArrayBuffer(0)
  #memoryOffset = 0
  #entries: Uint32Array<ArrayBufferLike> = new Uint32Array(0)
  #firstSeq = 0
  #index = 0
  #count = 0
  #baseTimeMs = 0

  #nativeReader: NativeLogReader | undefined
  /** Made with the native reader. */
  #batches: BatchMemory | undefined
  /** The seq of the first record that is read. */
  #begin = 0
  /** The seq after the newest batch from the native reader. */
  #position = 0
  /** The seq at which the iteration ends because `to` or `until` says so. */
  #stop: number
  /** The seq at which the log ended when reading began; the core gets it, to tell a lost record from the end. */
  #end = Number.POSITIVE_INFINITY
  #seenTruncation: Truncation
  #fetch: Fetch | undefined
  /** Batches since the last one that came from a worker thread. */
  #cachedInRow = 0
  #filling: Promise<void> | undefined
  /** Ends the watch for `signal`. */
  #unwatch: () => void = () => {}
  /** Calls of `next` that have not settled; the last of them. */
  #waiting = 0
  #lastWaiting: Promise<void> = Promise.resolve()
  #wake: (() => void) | undefined
  #done = false
  #failure: { error: unknown } | undefined

  /** `seqAt` finds the first record at or after a time. */
  constructor(
    source: ReadSource,
    options: ReadOptions | undefined,
    seqAt: (time: Date | number) => Promise<number>,
    codec?: Codec,
  ) {
    const { from, to, since, until, follow, durableOnly, salvage, onGap, signal } = resolveReadOptions(options)
    this.#codec = codec
    this.#source = source
    this.#seenTruncation = source.lastTruncation
    this.#from = from
    this.#since = since
    this.#until = until
    this.#seqAt = seqAt
    this.#stop = to === undefined ? Number.POSITIVE_INFINITY : to
    this.#follow = follow ?? false
    this.#durableOnly = durableOnly ?? false
    this.#salvage = salvage ?? source.salvage
    this.#onGap = onGap
    this.#signal = signal
    if (this.#signal?.aborted) this.#fail(this.#signal.reason)
    else this.#unwatch = onAbort(this.#signal, this.#onAbort)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<LogRecord, undefined>> {
    const record = this.nextBuffered()
    return record === undefined ? this.#nextSlow() : Promise.resolve({ done: false, value: record })
  }

  nextBuffered(): LogRecord | undefined {
    return this.#waiting > 0 ? undefined : this.#take()
  }

  #take(): LogRecord | undefined {
    const index = this.#index
    if (index >= this.#count || this.#source.lastTruncation !== this.#seenTruncation) return undefined
    this.#index = index + 1
    return this.#record(index)
  }

  batches(maxRecords?: number): AsyncGenerator<LogRecord[], undefined, undefined> {
    const batches = this.#inBatches(maxRecords)
    const end = batches.return.bind(batches)
    // A generator's own `return` waits for the pending `next`, which a follower may never get.
    batches.return = async (value) => {
      await this.return()
      return end(value)
    }
    return batches
  }

  async *#inBatches(maxRecords?: number): AsyncGenerator<LogRecord[], undefined, undefined> {
    const max = whole('maxRecords', maxRecords, BATCH_RECORDS, DEFAULT_BATCH_RECORDS)
    try {
      for (;;) {
        const records = this.#buffered(max)
        if (records.length === 0) {
          const { done, value } = await this.next()
          if (done) return undefined
          records.push(value, ...this.#buffered(max - 1))
        }
        yield records
      }
    } finally {
      await this.return()
    }
  }

  #record(index: number): LogRecord {
    const entry = index * ENTRY_NUMBERS
    const offset = this.#memoryOffset + (this.#entries[entry] as number)
    const record = {
      seq: this.#firstSeq + index,
      data: new BufferOver(this.#memory, offset, this.#entries[entry + 1] as number),
      timestamp: this.#baseTimeMs + (this.#entries[entry + 2] as number),
    }
    return this.#codec === undefined ? record : new RecordWithValue(record, this.#codec)
  }

  /** At most `max` of the records that are decoded. */
  #buffered(max: number): LogRecord[] {
    if (this.#waiting > 0 || this.#source.lastTruncation !== this.#seenTruncation) return []
    const begin = this.#index
    const end = Math.min(begin + max, this.#count)
    this.#index = end
    const records: LogRecord[] = []
    for (let index = begin; index < end; index++) records.push(this.#record(index))
    return records
  }

  async return(): Promise<IteratorResult<LogRecord, undefined>> {
    this.#finish()
    this.#wake?.()
    await this.#filling
    await this.#release()
    return DONE
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  /** Calls that wait for a batch take their records in the order of the calls. */
  #nextSlow(): Promise<IteratorResult<LogRecord, undefined>> {
    const result = this.#waiting === 0 ? this.#advance() : this.#lastWaiting.then(() => this.#advance())
    const leave = (): void => {
      this.#waiting--
    }
    this.#waiting++
    this.#lastWaiting = result.then(leave, leave)
    return atCaller(result)
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

  /** Makes the next batch ready, or finishes. */
  async #fill(): Promise<void> {
    if (this.#nativeReader === undefined) await this.#open()
    while (!this.#done) {
      this.#source.look()
      if (this.#source.lastTruncation !== this.#seenTruncation) {
        await this.#afterTruncation()
        continue // another cut may have come meanwhile
      }
      const { ended } = this.#source
      const limit = this.#limit()
      if (this.#position >= this.#stop) return this.#finish()
      if (limit !== -1 && this.#position >= limit) {
        if (!this.#follow || ended) return this.#finish()
        await this.#more(limit)
        continue
      }
      const fetch = this.#fetch ?? this.#request(limit)
      const batch = await this.#receive(fetch)
      if (this.#done) return
      if (batch === undefined || this.#source.lastTruncation !== this.#seenTruncation) continue
      if (batch.count > 0) return this.#install(fetch, batch)
      if (batch.needBytes > 0) {
        this.#batches?.needs(batch.needBytes)
        continue
      }
      if (batch.nextSeq > this.#position) {
        this.#position = batch.nextSeq // only seqs without a record
        continue
      }
      if (fetch.limit !== limit) continue
      if (limit !== -1) throw outOfRange(`record ${this.#position} is gone: the log was cut while it was read`)
      if (!this.#follow || ended) return this.#finish()
      await this.#more(limit)
    }
  }

  async #open(): Promise<void> {
    const batches = BatchMemory.make()
    for (let attempt = 1; ; ) {
      const { first, limit, next } = await this.#source.range(this.#durableOnly)
      if (this.#done) return
      this.#seenTruncation = this.#source.lastTruncation
      const since = this.#since === undefined ? 0 : await this.#seqAt(this.#since)
      const until = this.#until === undefined ? Number.POSITIVE_INFINITY : await this.#seqAt(this.#until)
      // Facts learned before a cut are not valid for the log after it.
      this.#source.look()
      if (this.#source.lastTruncation !== this.#seenTruncation) continue
      const from = Math.max(this.#from ?? first, since)
      if (from < first) throw outOfRange(`records before ${first} have been trimmed; can't read from ${from}`)
      if (from > next) throw outOfRange(`the log ends before ${next}; can't read from ${from}`)
      this.#stop = Math.min(this.#stop, until)
      this.#begin = from
      this.#firstSeq = from
      this.#position = from
      if (!this.#follow) this.#end = limit
      if (from >= Math.min(this.#stop, this.#end)) return this.#finish()
      try {
        this.#nativeReader = await native.openLogReader(this.#source.dir, from)
        this.#batches = await batches
        return
      } catch (error) {
        // The log may have been trimmed between the two calls: look again where it begins now.
        if (this.#from !== undefined || attempt++ === 3 || !isCode(error, 'ERR_DURLOG_OUT_OF_RANGE')) throw error
      }
    }
  }

  #limit(): number {
    return this.#follow ? this.#source.followLimit(this.#durableOnly) : this.#end
  }

  /** Asks the native reader for the next batch; one that is not in memory comes from a worker thread. */
  #request(limit: number): Fetch {
    const { buffer, entries } = (this.#batches as BatchMemory).take()
    // Not bounded by `to`: an atomic batch that it cuts through is read as a whole.
    const nativeReader = this.#nativeReader as NativeLogReader
    const isNear = this.#follow && limit !== -1 && limit - this.#position <= MAX_CACHED_RECORDS
    const mayStay = isNear && this.#cachedInRow < MAX_CACHED_IN_ROW
    const cached = mayStay ? nativeReader.nextCached(buffer, entries, limit) : undefined
    this.#cachedInRow = cached === undefined ? 0 : this.#cachedInRow + 1
    const promise = cached === undefined ? nativeReader.next(buffer, entries, limit) : Promise.resolve(cached)
    const fetch = { promise, buffer, entries, limit }
    promise.catch(() => {}) // #receive reports it, when its turn comes
    this.#fetch = fetch
    return fetch
  }

  /** The requested batch; undefined if damage was skipped instead or a cut made it void. */
  async #receive(fetch: Fetch): Promise<NativeBatch | undefined> {
    try {
      const batch = await fetch.promise
      this.#source.look()
      if (batch.count === 0) this.#batches?.giveBack(fetch.entries)
      return batch
    } catch (error) {
      await this.#source.settled()
      if (this.#done) return undefined
      this.#source.look()
      if (this.#source.lastTruncation !== this.#seenTruncation) return undefined
      if (!this.#salvage || !isCode(error, 'ERR_DURLOG_CORRUPT')) throw error
      await this.#skip(error)
      return undefined
    } finally {
      this.#fetch = undefined
    }
  }

  async #skip(error: DurlogError): Promise<void> {
    const next = await (this.#nativeReader as NativeLogReader).skipDamage()
    const first = this.#position
    if (next === -1) {
      this.#finish()
    } else {
      this.#position = next
      this.#firstSeq = next
      this.#index = 0
      this.#count = 0
    }
    this.#onGap?.({ first, last: next === -1 ? -1 : next - 1, error })
  }

  #install(fetch: Fetch, batch: NativeBatch): void {
    this.#batches?.giveBack(this.#entries)
    this.#memory = fetch.buffer.buffer
    this.#memoryOffset = fetch.buffer.byteOffset
    this.#entries = fetch.entries
    this.#firstSeq = batch.firstSeq
    this.#index = 0
    this.#count = Math.min(batch.count, this.#stop - batch.firstSeq)
    this.#baseTimeMs = batch.baseTimeMs
    this.#position = batch.nextSeq
    const { counts } = this.#source
    counts.readRecords += batch.count
    counts.readBytes += this.#batches?.keep(fetch.entries, batch.count) ?? 0
    // Ahead of the consumer, unless the end has just been reached.
    const limit = this.#limit()
    const more = limit === -1 ? batch.count > 1 : this.#position < limit
    if (more && this.#position < this.#stop) this.#request(limit)
  }

  /** Settles when there may be records from `limit` on, or when the iteration ends. */
  #more(limit: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.#source.onMore(this.#nativeReader as NativeLogReader, limit, this.#durableOnly, (error) => {
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

  /** Continues after a cut: records decoded ahead may have been cut, and their seqs given out again. */
  async #afterTruncation(): Promise<void> {
    const next = this.#firstSeq + this.#index
    const cut = this.#seenTruncation.lowestLater()
    this.#seenTruncation = this.#source.lastTruncation
    this.#count = 0
    this.#index = 0
    this.#firstSeq = next
    this.#position = next
    await this.#release()
    if (this.#done) return
    if (next === this.#begin) return this.#open()
    if (next > cut)
      throw outOfRange(`the log was cut to end before ${cut}; this reader has delivered up to ${next - 1}`)
    // Records after the cut are newer than the end, and than the time that `until` was looked up for.
    if (!this.#follow) this.#end = Math.min(this.#end, cut)
    if (this.#until !== undefined) this.#stop = Math.min(this.#stop, cut)
    this.#nativeReader = await native.openLogReader(this.#source.dir, next)
  }

  readonly #onAbort = (): void => {
    this.#fail(this.#signal?.reason)
    this.#wake?.()
  }

  #fail(error: unknown): void {
    if (this.#done) return
    this.#failure = { error }
    this.#finish()
  }

  #finish(): void {
    this.#done = true
    this.#count = 0
    this.#index = 0
    this.#unwatch()
  }

  /** Closes the native reader once its pending call has returned. */
  async #release(): Promise<void> {
    const nativeReader = this.#nativeReader
    if (nativeReader === undefined) return
    this.#nativeReader = undefined
    const fetch = this.#fetch
    this.#fetch = undefined
    await fetch?.promise.catch(() => {})
    nativeReader.close()
  }
}

function isCode(error: unknown, code: DurlogError['code']): error is DurlogError {
  return error instanceof DurlogError && error.code === code
}
