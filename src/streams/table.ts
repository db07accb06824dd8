/** All streams of a folder, as the entries of the log so far leave them. */
import { advance, decideBatch } from './decide.js'
import { type Entry, EntryKind } from './entry.js'
import { defaultMeta, expiryOf, type StreamMeta } from './meta.js'
import { RequestTable } from './requests.js'
import { NO_DISK, type StreamDisk, StreamState, TAIL_RECORD_OVERHEAD_BYTES, TailRecord, tailBytesOf } from './state.js'

export class StreamTable {
  readonly streams: Map<string, StreamState> = new Map()
  /** Changed or deleted since the last checkpoint began. */
  dirty: Map<string, StreamState> = new Map()
  /** Of the checkpoint in progress: what it has yet to store. */
  #frozen: Map<string, StreamState> = new Map()
  /** The bytes of the records in memory. */
  tailBytes = 0
  /** The time of the newest entry. */
  lastTimeMs = 0
  /** Positions of entries that do not count. */
  readonly voids: Set<number> = new Set()
  /** Of other processes. */
  requests: RequestTable = new RequestTable()
  /** Streams that expire. */
  readonly expiring: Set<StreamState> = new Set()
  readonly #waiting = new Map<string, Set<() => void>>()

  find = (name: string): StreamState | undefined => this.streams.get(name)

  /** Applies the entries of one batch of the log if they count; returns whether they do. */
  replay(batch: readonly Entry[], position: number): boolean {
    if (!this.#counts(batch)) {
      for (const at of batch.keys()) this.voids.add(position + at)
      return false
    }
    for (const [at, entry] of batch.entries()) this.acknowledged(entry, this.apply(entry, position + at))
    this.remember(batch)
    return true
  }

  #counts(batch: readonly Entry[]): boolean {
    const wanted = batch.map((entry) => ({ ...entry, expectedSeq: entry.seq }))
    try {
      return decideBatch(wanted, this.find).every(({ outcome }) => outcome === 'stored')
    } catch {
      return false
    }
  }

  /** Applies an entry that counts. */
  apply(entry: Entry, position: number): StreamState {
    this.lastTimeMs = entry.timeMs
    const found = this.streams.get(entry.stream)
    const state = found ?? this.#create(entry, position)
    this.#touch(state)
    state.usedMs = Date.now()
    if (entry.producer !== undefined) advance(state.producers, entry.producer, state.next)
    if (entry.kind === EntryKind.append) {
      const record = new TailRecord(position, entry)
      state.tail.push(record)
      this.tailBytes += record.length + TAIL_RECORD_OVERHEAD_BYTES
      if (entry.writerSeq !== undefined) state.writerSeq = entry.writerSeq
      state.next++
    } else if (entry.kind === EntryKind.end) {
      state.ended = true
    } else if (entry.kind === EntryKind.delete) {
      if (state.forks > 0) state.gone = true
      else this.#remove(state)
    }
    return state
  }

  /** Keeps the result of the request that made the entries, which have been applied. */
  remember(batch: readonly Entry[]): void {
    const request = batch[0]?.request
    if (request !== undefined) this.requests.add(request, batch.map(resultSeq))
  }

  /** The entry, which has been applied to `state`, has reached the level. */
  acknowledged(entry: Entry, state: StreamState): void {
    state.known = true
    if (entry.kind === EntryKind.append) state.visible = Math.max(state.visible, entry.seq + 1)
    else if (entry.kind === EntryKind.end) state.endVisible = true
    this.#wake(entry.stream)
  }

  /** Calls `wake` once, when something of the stream `name` becomes visible; returns what forgets it. */
  onChange(name: string, wake: () => void): () => void {
    const waiting = this.#waiting.get(name) ?? new Set()
    this.#waiting.set(name, waiting.add(wake))
    return () => {
      waiting.delete(wake)
      if (waiting.size === 0 && this.#waiting.get(name) === waiting) this.#waiting.delete(name)
    }
  }

  /** Wakes everything that waits for a change. */
  wakeAll(): void {
    for (const name of [...this.#waiting.keys()]) this.#wake(name)
  }

  /** Begins a checkpoint of what is dirty. Later changes of a stream leave a copy of it in `capture` first. */
  freeze(): Map<string, StreamState> {
    this.#frozen = this.dirty
    this.dirty = new Map()
    return this.#frozen
  }

  /** The checkpoint has stored the stream's first records, as `disk` has them. */
  stored(state: StreamState, disk: StreamDisk): void {
    const gone = state.tail.slice(0, disk.next - state.disk.next)
    if (!state.deleted) this.tailBytes -= tailBytesOf(gone)
    state.tail = state.tail.slice(gone.length)
    state.disk = disk
    state.capture = undefined
    this.#frozen.delete(state.name)
  }

  /** Ends a checkpoint. Streams that it has not stored are dirty again. */
  thaw(): void {
    for (const [name, state] of this.#frozen) {
      state.capture = undefined
      // A newer stream of the same name is dirty already, and replaces it.
      if (!this.dirty.has(name)) this.dirty.set(name, state)
    }
    this.#frozen = new Map()
  }

  /** Adds a stream that the catalog holds; its source has been added before. */
  add(state: StreamState): void {
    this.streams.set(state.name, state)
    if (state.source !== undefined) state.source.forks++
    if (expiryOf(state.meta, 0) < Number.POSITIVE_INFINITY) this.expiring.add(state)
  }

  /** Whether a reader waits for the stream `name`. */
  isWaitedFor(name: string): boolean {
    return this.#waiting.has(name)
  }

  #create({ stream, encoding, meta = defaultMeta(encoding) }: Entry, position: number): StreamState {
    const replaces = this.dirty.has(stream) || this.#frozen.has(stream)
    const { fork } = meta
    const source = fork === undefined ? undefined : (this.streams.get(fork.stream) as StreamState)
    const state = new StreamState(stream, position, emptyDisk(meta), replaces, meta, source)
    this.add(state)
    return state
  }

  /** Removes a stream, and its source if that was deleted and this was its last fork. */
  #remove(state: StreamState): void {
    state.deleted = true
    this.streams.delete(state.name)
    this.expiring.delete(state)
    this.tailBytes -= tailBytesOf(state.tail)
    const { source } = state
    if (source === undefined) return
    source.forks--
    if (!source.gone || source.forks > 0) return
    this.#touch(source)
    this.#remove(source)
  }

  #touch(state: StreamState): void {
    if (state.capture === undefined && this.#frozen.get(state.name) === state) state.capture = state.copy()
    this.dirty.set(state.name, state)
  }

  #wake(name: string): void {
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) return
    this.#waiting.delete(name)
    for (const wake of waiting) wake()
  }
}

/** The seq in the result of the call that stored the entry. */
export function resultSeq({ kind, seq }: Entry): number {
  return kind === EntryKind.append ? seq : -1
}

/** Of a stream that no checkpoint has stored: the records of a fork begin where its source is left. */
function emptyDisk({ fork }: StreamMeta): StreamDisk {
  return fork === undefined ? NO_DISK : { ...NO_DISK, first: fork.seq, next: fork.seq }
}
