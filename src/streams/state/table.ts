/** The state of all streams of a folder, after all entries of the log so far. */
import { DurlogError } from '../../errors.js'
import { NameMap } from '../../support/name-map.js'
import { PacedWork } from '../../support/paced-work.js'
import { TimeSlice } from '../../support/time-slice.js'
import { defaultMeta, expires, type StreamMeta } from '../port/meta.js'
import { canBeForkOf } from './catalog-check.js'
import { advance, decideBatch } from './decide.js'
import { DedupTable } from './dedup-table.js'
import { type Change, type Entry, EntryKind } from './entry.js'
import { MemTable, RECORD_OVERHEAD_BYTES, type ValueSlice } from './mem-table.js'
import { Positions } from './positions.js'
import { NO_DISK, type StreamDisk, StreamState } from './state.js'
import { StreamMap } from './stream-map.js'

export class StreamTable {
  readonly streams: StreamMap
  /** The streams that were changed or deleted since the last checkpoint began. */
  dirty: NameMap<StreamState> = new NameMap()
  /** The streams that the checkpoint in progress has yet to store. */
  #toStore: NameMap<StreamState> = new NameMap()
  #checkpoints = 0
  /** The records that may not be in their streams' files yet. */
  readonly memTable: MemTable = new MemTable()
  /** The latest time of all entries. */
  lastTimeMs = 0
  /** The positions of entries that do not count. */
  readonly voids: Set<number> = new Set()
  /** The stored requests of clients. */
  readonly dedup: DedupTable = new DedupTable()
  /** The streams that can expire, or whose records can. */
  readonly expiring: Set<StreamState> = new Set()
  /** The streams whose files the last checkpoint could not write. Their records since then stay in the main log. */
  readonly #blocked = new Set<StreamState>()
  /** The memory of the records of these streams, approximately, in bytes. */
  blockedBytes = 0
  readonly #waiting = new Map<string, Set<() => void>>()
  /** The names of the streams for which readers wait until the log is synced. */
  readonly #awaitingSync = new Set<string>()
  /** For each name, the number of deletions that have not reached the durability level. */
  readonly #deleting = new Map<string, number>()

  /** `streams` are those of the catalog. Call `adopt` for each with options before the table is used. */
  constructor(streams: StreamMap = new StreamMap()) {
    this.streams = streams
  }

  /**
   * Connects a stream of the catalog with its source, and registers it for expiry and for the next checkpoint if it
   * needs them. Must be called in the order of creation. Throws ERR_DURLOG_CORRUPT if the stream cannot be a fork of
   * its source.
   */
  adopt(state: StreamState): void {
    const { fork } = state.meta
    const source = fork && this.streams.get(fork.stream)
    if (!canBeForkOf(state, source))
      throw new DurlogError(
        'ERR_DURLOG_CORRUPT',
        `in the catalog, the stream "${state.name}" is a fork of "${fork?.stream}", which does not have its records: restore the folder of streams from a copy`,
      )
    if (source !== undefined) state.forkFrom(source)
    this.#link(state)
    if (state.disk.dropped !== undefined || state.keptFrom !== undefined) this.touch(state)
  }

  find = (name: string): StreamState | undefined => this.streams.get(name)

  /** Applies the entries of one batch of the log if they count. Returns whether they do. */
  replay(batch: readonly Entry[], position: number): boolean {
    if (!this.#isAccepted(batch)) {
      for (const at of batch.keys()) this.voids.add(position + at)
      return false
    }
    for (const [at, entry] of batch.entries()) {
      const state = this.apply(entry, entry, entry.timeMs, position + at, this.find(entry.stream))
      this.acknowledged(entry.kind, entry.seq, state)
    }
    const request = batch[0]?.request
    // The result of a group is that of its first change.
    const results = batch[1]?.follows === true ? batch.slice(0, 1) : batch
    if (request !== undefined)
      this.dedup.add(
        request,
        results.map(({ kind, seq }) => resultSeq(kind, seq)),
      )
    return true
  }

  #isAccepted(batch: readonly Entry[]): boolean {
    const wanted = batch.map((entry) => ({ expectedSeq: entry.seq, ...entry }))
    try {
      return decideBatch(wanted, this.find).every(({ outcome }) => outcome === 'stored')
    } catch {
      return false
    }
  }

  /**
   * Applies a change that counts and is the entry at `position`. `found` is the stream with its name, if it exists.
   * Returns the stream.
   */
  apply(
    change: Change,
    place: ValueSlice,
    timeMs: number,
    position: number,
    found: StreamState | undefined,
  ): StreamState {
    const { kind, producer, writerSeq } = change
    if (timeMs > this.lastTimeMs) this.lastTimeMs = timeMs
    this.memTable.add(position, place, timeMs)
    const state = found ?? this.#create(change, position)
    this.touch(state)
    state.use()
    if (!change.follows) state.changedFrom = state.next
    if (producer !== undefined) advance(state, producer)
    if (kind === EntryKind.append || kind === EntryKind.create) state.updatedMs = timeMs
    if (kind === EntryKind.append) {
      state.unflushed.push(position)
      if (state.blocked !== undefined) this.blockedBytes += costOf(place.end - place.valueAt)
      if (writerSeq !== undefined) state.writerSeq = writerSeq
      state.next++
    } else if (kind === EntryKind.end) {
      state.ended = true
      if (state.changedFrom < state.next) state.endedFrom = state.changedFrom
    } else if (kind === EntryKind.delete) {
      this.#deleting.set(state.name, (this.#deleting.get(state.name) ?? 0) + 1)
      if (state.forks > 0) state.softDeleted = true
      else this.#remove(state)
    }
    return state
  }

  /**
   * Applies appends to `state` that count and are the entries from `position` on. Their values are in `bytes`, at
   * `places` plus `base`. A change of the same batch was applied to `state` before.
   */
  applyValues(
    state: StreamState,
    { bytes, places, base }: { bytes: Buffer; places: Uint32Array; base: number },
    timeMs: number,
    position: number,
  ): void {
    this.memTable.addAll(position, bytes, places, base, timeMs)
    if (state.blocked !== undefined)
      this.blockedBytes += costOf((places.at(-1) as number) - (places[0] as number), places.length / 2)
    const count = places.length / 2
    state.unflushed.pushRun(position, count)
    state.next += count
    state.updatedMs = timeMs
  }

  /** An entry that was applied to `state` has reached the durability level: makes it visible. */
  acknowledged(kind: EntryKind, seq: number, state: StreamState): void {
    state.creationVisible = true
    if (kind === EntryKind.append) state.visible = Math.max(state.visible, seq + 1)
    else if (kind === EntryKind.end) state.endVisible = true
    else if (kind === EntryKind.delete) this.#deleted(state.name)
    if (this.#waiting.size > 0) this.#wake(state.name)
  }

  #deleted(name: string): void {
    const others = (this.#deleting.get(name) ?? 1) - 1
    if (others === 0) this.#deleting.delete(name)
    else this.#deleting.set(name, others)
  }

  /**
   * Whether a stream of this name was deleted and the log may still lose the deletion. `onChange` reports when the
   * deletion has reached the durability level, or when the table is replaced because it has failed.
   */
  isDeleting(name: string): boolean {
    return this.#deleting.has(name)
  }

  /** The names for which `isDeleting` is true and that begin with `prefix`. */
  deletions(prefix: string): string[] {
    return [...this.#deleting.keys()].filter((name) => name.startsWith(prefix))
  }

  /** Ends every wait for a deletion, because it is not known when the table can be replaced. */
  forgetDeletions(): void {
    this.#deleting.clear()
    this.wakeAll()
  }

  /** Calls `wake` once, when something of the stream `name` becomes visible. Returns a function that cancels this. */
  onChange(name: string, wake: () => void): () => void {
    const waiting = this.#waiting.get(name) ?? new Set()
    this.#waiting.set(name, waiting.add(wake))
    return () => {
      waiting.delete(wake)
      if (waiting.size === 0 && this.#waiting.get(name) === waiting) this.#waiting.delete(name)
    }
  }

  /** Wakes the readers that wait for the stream `name` at the next sync of the log too. */
  awaitSync(name: string): void {
    this.#awaitingSync.add(name)
  }

  /** The log was synced. */
  synced(): void {
    if (this.#awaitingSync.size === 0) return
    this.#wakeEach(this.#awaitingSync)
    this.#awaitingSync.clear()
  }

  /** Wakes everything that waits for a change. */
  wakeAll(): void {
    this.#wakeEach(this.#waiting.keys())
  }

  /** In several turns of the event loop if much waits. */
  #wakeEach(names: Iterable<string>): void {
    const work = new PacedWork()
    for (const name of names) work.run(() => this.#wake(name))
  }

  /**
   * Begins a checkpoint of the dirty streams. From now on, a change of one of them first copies its state into
   * `snapshot`.
   */
  beginCheckpoint(): NameMap<StreamState> {
    this.#toStore = this.dirty
    this.dirty = new NameMap()
    this.#checkpoints++
    return this.#toStore
  }

  /**
   * The checkpoint has stored the stream; its files are now as `disk` describes, which is undefined if the stream was
   * deleted.
   */
  stored(state: StreamState, disk: StreamDisk | undefined): void {
    state.unflushed = disk === undefined ? new Positions() : state.unflushed.after(disk.next - state.disk.next)
    state.disk = disk ?? NO_DISK
    state.snapshot = undefined
    state.replaced = undefined
    this.#toStore.delete(state.name)
    // The next checkpoint removes the dropped files.
    if (disk?.dropped !== undefined && !state.removed) this.touch(state)
  }

  /**
   * The checkpoint in progress could not write the files of the streams in `blocked`, for the reasons given. They
   * remain part of the next checkpoint.
   */
  async block(blocked: ReadonlyMap<StreamState, DurlogError>): Promise<void> {
    for (const state of this.#blocked) state.blocked = undefined
    this.#blocked.clear()
    this.blockedBytes = 0
    const slice = new TimeSlice()
    for (const [state, error] of blocked) {
      state.blocked = error
      this.#blocked.add(state)
      const { unflushed } = state
      // Records that are appended meanwhile are counted by `apply`.
      for (let at = 0, end = unflushed.length; at < end; at++) {
        if (slice.isOver()) await slice.nextTurn()
        this.blockedBytes += costOf(this.memTable.lengthAt(unflushed.at(at)))
      }
    }
  }

  /** Why the files of one of the blocked streams could not be written; undefined if no stream is blocked. */
  get blockedBy(): DurlogError | undefined {
    const [state] = this.#blocked
    return state?.blocked
  }

  /** Ends a checkpoint. The streams that it has not stored are dirty again. */
  async endCheckpoint(): Promise<void> {
    const slice = new TimeSlice()
    for (const [name, state] of this.#toStore) {
      if (slice.isOver()) await slice.nextTurn()
      this.#toStore.delete(name)
      state.snapshot = undefined
      // A newer stream of the same name is dirty already and replaces this one.
      if (this.dirty.has(name)) continue
      state.changedAfter = this.#checkpoints
      this.dirty.set(name, state)
    }
  }

  /** Whether a reader waits for the stream `name`. */
  isWaitedFor(name: string): boolean {
    return this.#waiting.has(name)
  }

  #create({ stream, encoding, meta = defaultMeta(encoding) }: Change, position: number): StreamState {
    const { fork } = meta
    const source = fork === undefined ? undefined : (this.streams.get(fork.stream) as StreamState)
    if (source !== undefined) this.#keepForCheckpoint(source)
    const state = new StreamState(stream, position, emptyDisk(meta), meta, source)
    state.replaced = this.dirty.get(stream) ?? this.#toStore.get(stream)
    this.streams.set(stream, state)
    this.#link(state)
    return state
  }

  #link(state: StreamState): void {
    if (state.source !== undefined) state.source.forks++
    const { meta } = state
    if (expires(meta) || meta.retention?.maxAgeMs !== undefined) this.expiring.add(state)
  }

  /** Removes a stream. Also removes its source if the source was deleted and this was its last fork. */
  #remove(stream: StreamState): void {
    let state = stream
    for (;;) {
      state.removed = true
      this.streams.delete(state.name)
      this.expiring.delete(state)
      const { source } = state
      if (source === undefined) return
      const isLast = source.softDeleted && source.forks === 1
      // A source with retention may have kept records only for this fork. The snapshot for a checkpoint in progress
      // still has the fork.
      if (isLast || source.meta.retention !== undefined) this.touch(source)
      source.forks--
      if (!isLast) return
      state = source
    }
  }

  /** Makes the stream part of the next checkpoint. */
  touch(state: StreamState): void {
    if (state.changedAfter === this.#checkpoints) return
    state.changedAfter = this.#checkpoints
    this.#keepForCheckpoint(state)
    this.dirty.set(state.name, state)
  }

  /**
   * Must be called before the stream changes: keeps its state for a checkpoint in progress that has yet to store it.
   */
  #keepForCheckpoint(state: StreamState): void {
    if (this.#toStore.get(state.name) === state) state.snapshot ??= state.takeSnapshot()
  }

  #wake(name: string): void {
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) return
    this.#waiting.delete(name)
    for (const wake of waiting) wake()
  }
}

function costOf(bytes: number, records = 1): number {
  return bytes + records * RECORD_OVERHEAD_BYTES
}

/** The seq in the result of the call that stored an entry: -1 unless it is an append. */
export function resultSeq(kind: EntryKind, seq: number): number {
  return kind === EntryKind.append ? seq : -1
}

/** The `disk` of a stream that no checkpoint has stored. In a fork the first own record has the seq `fork.seq`. */
function emptyDisk({ fork }: StreamMeta): StreamDisk {
  return fork === undefined ? NO_DISK : { ...NO_DISK, first: fork.seq, next: fork.seq }
}
