/** A folder of streams in the process (or thread) that owns it, as its callers use it: answers them from its store. */
import type { CursorOptions, LogRecord } from '../../index.js'
import { APPEND_LEVELS } from '../../native/levels.js'
import { abortable } from '../../options/abort-signal.js'
import { TimeSlice } from '../../support/time-slice.js'
import { queueMicrotask } from '../../timers.js'
import { readBody } from '../files/body-source.js'
import type { OpenFolder } from '../files/open-folder.js'
import type { Body, BodyRead } from '../port/body.js'
import { codecOf, type SentValues, storedCodecOf } from '../port/encoding.js'
import { contentTypeOf } from '../port/meta.js'
import type { ResolvedStreamsOptions } from '../port/options.js'
import {
  type AllBounds,
  type Awaitable,
  type Batches,
  type CreationRequest,
  type Group,
  type KnownGroup,
  knownGroup,
  type LastAppend,
  type PortCursor,
  type SeenState,
  type Settle,
  type StreamsPort,
  type StreamsStats,
  type StreamView,
} from '../port/port.js'
import { StreamIdentities } from '../port/stream-identities.js'
import type { CommittedRecord, StreamAppendResult, StreamInfo, StreamRecord } from '../port/types.js'
import { noSuchStream } from '../state/decide.js'
import type { RequestId } from '../state/dedup-table.js'
import { type Entry, EntryKind } from '../state/entry.js'
import { EntryRecord } from '../state/entry-record.js'
import type { StreamState } from '../state/state.js'
import { makeStream } from './creation.js'
import { bareItem, groupItem } from './items.js'
import { type StepHooks, StreamStore } from './store.js'
import { type ReadInTurn, readAll, readStream, type StreamRange } from './stream-reader.js'

export class LocalPort extends StreamStore implements StreamsPort {
  readonly identities: StreamIdentities

  constructor(opened: OpenFolder, options: ResolvedStreamsOptions, hooks: StepHooks) {
    super(opened, options, hooks)
    const { uuid, generation } = opened.log
    this.identities = new StreamIdentities(uuid, generation)
  }

  readonly #toRecord = (entry: LogRecord, decoded: Entry): EntryRecord =>
    new EntryRecord(this.identities, entry, decoded)

  get ownerPid(): number {
    return process.pid
  }

  /** `request` is that of a client, which is stored with the group. */
  append(group: Group, settle: Settle<StreamAppendResult>, request?: RequestId): void {
    this.removeExpired(group.stream)
    this.sequencer.submit(groupItem(group), request, settle, group.conditions.durability)
  }

  appendBatch(groups: readonly Group[], request?: RequestId): Promise<StreamAppendResult[]> {
    for (const { stream } of groups) this.removeExpired(stream)
    const level = APPEND_LEVELS.findLast((name) => groups.some(({ conditions }) => conditions.durability === name))
    return this.sequencer.submitBatch(groups.map(groupItem), request, level)
  }

  appendTo(
    name: string,
    groupOf: (stream: StreamView | undefined) => KnownGroup,
    settle: Settle<StreamAppendResult>,
  ): void {
    this.removeExpired(name)
    const state = this.#find(name)
    const group = groupOf(state)
    if (state === undefined) throw noSuchStream(name)
    this.append(knownGroup(state, group), settle)
  }

  async create(name: string, creation: CreationRequest, values: SentValues, request?: RequestId): Promise<boolean> {
    return !(await makeStream(this, { name, creation, values }, request)).duplicate
  }

  async delete(name: string, request?: RequestId): Promise<boolean> {
    this.removeExpired(name)
    const item = bareItem(EntryKind.delete, name)
    const { duplicate } = await new Promise<StreamAppendResult>((resolve) =>
      this.sequencer.submit(item, request, resolve),
    )
    return !duplicate
  }

  find(name: string, isRead = false): Awaitable<StreamState | undefined> {
    const found = this.#find(name, isRead)
    const { table } = this
    // The log may still lose the deletion.
    if (found?.softDeleted === false || !table.isDeleting(name)) return found
    return new Promise<void>((resolve) => void table.onChange(name, resolve)).then(() => this.find(name, isRead))
  }

  #find(name: string, isRead = false): StreamState | undefined {
    const state = this.visible(name)
    if (state === undefined) {
      const kept = this.table.find(name)
      return kept?.softDeleted === true ? kept : undefined
    }
    if (isRead) state.use()
    return state
  }

  /** The stream that the entry at `created` created. Throws ERR_DURLOG_NOT_FOUND if it was deleted. */
  state(name: string, created: number): StreamState {
    const state = this.table.find(name)
    if (state?.created !== created) throw noSuchStream(name)
    return state
  }

  inherits(name: string, identity: string, seq: number): boolean {
    let at = this.table.find(name)
    while (at?.source !== undefined && seq <= at.start) {
      at = at.source
      if (this.identities.of(at.created) === identity) return true
    }
    return false
  }

  lastAppend(name: string, producerId: string): LastAppend | undefined {
    const state = this.table.find(name)
    const last = state?.producers.get(producerId)
    if (state === undefined || last === undefined) return undefined
    return { seq: last.seq, isEnd: state.ended && last.recent.at(-1) === (state.endedFrom ?? state.next) }
  }

  async info(name: string): Promise<StreamInfo | undefined> {
    this.checkOpen()
    const state = await this.find(name)
    this.checkOpen()
    return state === undefined || state.softDeleted ? undefined : this.infoOf(state)
  }

  async *infos(prefix: string, signal: AbortSignal): Batches<StreamInfo> {
    for await (const states of this.statesWith(prefix, 0, signal)) yield states.map((state) => this.infoOf(state))
  }

  /** As `infos`, without the streams that were created by entries before the position `from`. */
  async *statesWith(prefix: string, from: number, signal: AbortSignal): Batches<StreamState> {
    const slice = new TimeSlice()
    this.checkOpen()
    const end = this.sequencer.position
    for (const name of await this.#namesWith(prefix, signal)) {
      if (slice.isOver()) await slice.nextTurn()
      signal.throwIfAborted()
      this.checkOpen()
      const state = this.visible(name) ?? (await abortable(signal, async () => this.find(name)))
      if (state !== undefined && !state.softDeleted && state.created >= from && state.created < end) yield [state]
    }
  }

  /** The names that begin with `prefix`, in the order of creation. */
  async #namesWith(prefix: string, signal: AbortSignal): Promise<string[]> {
    const { table } = this
    const names = await table.streams.created(prefix, signal)
    // The log may still lose the deletions of streams that were left out.
    for (const name of table.deletions(prefix)) await abortable(signal, async () => this.find(name))
    // If a deletion was lost, the table was replaced.
    return table === this.table ? names : this.#namesWith(prefix, signal)
  }

  /** Describes the stream as readers may see it. */
  infoOf(state: StreamState): StreamInfo {
    const { name, disk, visible, endVisible, firstSeq, meta, updatedMs } = state
    return {
      name,
      firstSeq,
      nextSeq: visible,
      updatedAt: updatedMs,
      ended: endVisible,
      encoding: meta.encoding,
      contentType: contentTypeOf(meta),
      ttlMs: meta.ttlMs,
      expiresAt: meta.expiresAtMs,
      fork: meta.fork,
      retention: meta.retention,
      fileBytes: (disk.older ?? []).reduce((sum, { bytes }) => sum + bytes, disk.bytes),
      path: this.folder.files.records(state.fileName(disk.first), codecOf(meta.encoding)),
    }
  }

  readStream(
    name: string,
    range: StreamRange,
    stored: boolean,
    signal: AbortSignal,
    inTurn?: ReadInTurn,
  ): Batches<StreamRecord<unknown>> {
    return readStream(this, name, range, stored ? storedCodecOf : codecOf, signal, inTurn)
  }

  readAll(range: AllBounds, signal: AbortSignal): Batches<CommittedRecord<unknown>> {
    return readAll(this, range, this.#toRecord, signal)
  }

  async read(
    { name, created, visible }: Pick<StreamView, 'name' | 'created' | 'visible'>,
    from: number,
    body: Body,
  ): Promise<BodyRead> {
    const state = this.state(name, created)
    const { folder, table } = this
    try {
      return await readBody(folder, table.memTable, state, { from, to: visible }, body)
    } finally {
      // If the stream was deleted meanwhile, the file may be missing, or be that of a new stream with the same name.
      this.state(name, created)
    }
  }

  /** `seen` may be the state itself, which changes in place, so its members are copied. */
  onChange({ name, created, visible, endVisible }: SeenState, wake: () => void): () => void {
    const seen = { name, created, visible, endVisible }
    let isForgotten = false
    let forget = (): void => {}
    const look = (): void => {
      if (isForgotten) return
      if (this.#hasChanged(seen)) wake()
      else forget = this.table.onChange(name, look)
    }
    if (this.#hasChanged(seen)) queueMicrotask(look)
    else look()
    return () => {
      isForgotten = true
      forget()
    }
  }

  #hasChanged({ name, created, visible, endVisible }: SeenState): boolean {
    const state = this.visible(name)
    if (state === undefined) return created !== -1
    return state.created !== created || state.visible > visible || state.endVisible !== endVisible
  }

  async list(prefix: string, after: string, count: number): Promise<StreamState[]> {
    const { table } = this
    const names = await table.streams.sorted()
    const slice = new TimeSlice()
    const found: StreamState[] = []
    let name = after < prefix ? names.from(prefix) : names.after(after)
    while (found.length < count && name?.startsWith(prefix) === true && table === this.table) {
      const state = this.visible(name)
      if (state !== undefined) found.push(state)
      if (slice.isOver()) await slice.nextTurn()
      name = names.after(name)
    }
    // The log may still lose the deletions of streams that were left out.
    await Promise.all(table.deletions(prefix).map((deleted) => this.find(deleted)))
    // If a deletion was lost, the table was replaced.
    return table === this.table ? found : this.list(prefix, after, count)
  }

  async count(prefix: string): Promise<number> {
    const { streams } = this.table
    return prefix === '' ? streams.size : (await streams.sorted()).count(prefix)
  }

  stats(): StreamsStats {
    const { streams, memTable } = this.table
    const { replication } = this.folder.log.stats()
    return { streams: streams.size, memTableBytes: memTable.bytes, replication }
  }

  async cursor(name: string, options: CursorOptions): Promise<PortCursor> {
    this.checkOpen()
    const cursor = await this.folder.log.cursor(name, options)
    return {
      get position() {
        return cursor.position
      },
      read: (range, signal) => readAll(this, range, this.#toRecord, signal, cursor),
      commit: (position, durability) => cursor.commit(position, durability),
      close: () => cursor.close(),
    }
  }

  async removeCursor(name: string): Promise<void> {
    this.checkOpen()
    await this.folder.log.removeCursor(name)
  }
}
