/**
 * The catalog: a small log with the state of each stream as of the last checkpoint. See docs/FORMAT.md, "The catalog".
 */
import { DurlogError, isCode } from '../../errors.js'
import { type Log, open, type ReadOnlyLog } from '../../index.js'
import { NameMap } from '../../support/name-map.js'
import { sortedBy } from '../../support/radix-sort.js'
import { TimeSlice } from '../../support/time-slice.js'
import { nextTurn } from '../../timers.js'
import { wrongMember } from './catalog-check.js'
import {
  type CatalogChange,
  type CatalogHead,
  deletionText,
  requestTexts,
  type StoredRecord,
  streamText,
} from './catalog-records.js'
import type { RequestSeqs, StoredRequests } from './dedup-table.js'
import type { StreamState } from './state.js'
import { StoredStreams, StreamMap } from './stream-map.js'

const FORMAT_VERSION = 1
/** The version of a group with streams whose files are behind: version 1 would give the seqs of their records again. */
const KEPT_VERSION = 2
/** Large enough for the entry of a stream with MAX_PRODUCERS producers whose ids JSON must escape. */
export const CATALOG_SEGMENT_BYTES: number = 8 << 20
/**
 * The limits of one batch of the catalog's log: records, and characters of them. A batch must fit into its smallest
 * segment.
 */
const SLICE_RECORDS = 256
const SLICE_LENGTH = 1 << 15
/** The number of records that are read at once. */
const BATCH_RECORDS = 256
/** How often a catalog is read again because a checkpoint has trimmed it meanwhile. */
const MAX_PASSES = 5
/** The first record of each group. */
export const BEGIN: string = JSON.stringify({ kind: 'begin' } satisfies StoredRecord)
/** The catalog may have this many dead records more than it has streams. */
const SLACK_RECORDS = 4096
/** The limit of the dead records of requests, which may be long, in bytes. */
const SLACK_BYTES: number = CATALOG_SEGMENT_BYTES

/** The state as of the last complete group. A group is the records of one checkpoint. */
export interface CatalogState {
  head: CatalogHead | undefined
  requests: StoredRequests
  /** `source` of forks is not set yet. */
  streams: StreamMap
  /** The streams that were created with options, or whose files are behind, in the order of their creation. */
  withOptions: StreamState[]
}

export class Catalog {
  readonly #log: Log
  /**
   * The seqs of the live entries, by the name of the stream. An entry is live if it is the newest one of its stream in
   * a complete group.
   */
  readonly #live = new NameMap<number>()
  /** No record before this seq is live. */
  #liveFrom = 0
  /** For each group of request records from `#liveFrom` on: the seq after its last record, and its bytes. */
  #requests: { end: number; bytes: number }[] = []

  constructor(log: Log) {
    this.#log = log
  }

  /** `listener` is called if another program changes the catalog's files while it is open. */
  onFileChanged(listener: (error: DurlogError) => void): void {
    this.#log.on('latched', (error) => {
      if (error.code === 'ERR_DURLOG_FILE_CHANGED') listener(error)
    })
  }

  /** Loads the state. Throws as `readGroups`. */
  async load(): Promise<CatalogState> {
    this.#live.clear()
    this.#requests = []
    const log = this.#log
    const { firstSeq } = log
    const stored = new StoredStreams(log.nextSeq - firstSeq)
    const withOptions = new Set<string>()
    let head: CatalogHead | undefined
    /** The entries of the current group. The seq is undefined if the stream was deleted. */
    let names: string[] = []
    let seqs: (number | undefined)[] = []
    let requests: [string, RequestSeqs[]][] = []
    let storedRequests: StoredRequests = []
    await readGroups(log, {
      begin: () => {
        names = []
        seqs = []
        requests = []
      },
      add: (record, seq, data) => {
        if (record.kind === 'stream') {
          stored.add(seq - firstSeq, data, record.created)
          if (typeof record.meta !== 'string' || record.kept !== undefined) withOptions.add(record.name)
        }
        if (record.kind === 'requests') {
          requests.push([record.client, record.requests])
          this.#requests.push({ end: seq + 1, bytes: data.length })
        } else {
          names.push(record.name)
          seqs.push(record.kind === 'stream' ? seq : undefined)
        }
      },
      commit: async (committed) => {
        head = committed
        storedRequests = requests
        await this.#noteAll(pairsOf(names, seqs))
      },
    })
    return { head, requests: storedRequests, ...(await this.#liveStreams(stored, firstSeq, withOptions)) }
  }

  /** `stored` has the record `seq` in the row `seq` - `firstSeq`. `withOptions` may have names of dead records. */
  async #liveStreams(
    stored: StoredStreams,
    firstSeq: number,
    withOptions: ReadonlySet<string>,
  ): Promise<Pick<CatalogState, 'streams' | 'withOptions'>> {
    const slice = new TimeSlice()
    const streams = new StreamMap(stored)
    const found: StreamState[] = []
    const created: number[] = []
    for (const [name, seq] of this.#live) {
      if (slice.isOver()) await slice.nextTurn()
      streams.set(name, seq - firstSeq)
      if (!withOptions.has(name)) continue
      const state = streams.get(name) as StreamState
      found.push(state)
      created.push(state.created)
    }
    return { streams, withOptions: await sortedBy(found, created, slice) }
  }

  /**
   * Stores the group of a checkpoint and syncs it: `changed`, `requests` and `head`. If the catalog has become long,
   * also moves some of the oldest live entries to its end, so that it can be trimmed.
   */
  async store(
    changed: readonly CatalogChange[],
    requests: StoredRequests,
    head: Omit<CatalogHead, 'version'>,
    level: 'sync' | 'full' = 'sync',
  ): Promise<void> {
    const log = this.#log
    const groupStart = log.nextSeq
    /** The seq of the new entry of each stream; undefined if the stream was deleted. */
    const newSeqs = new NameMap<number | undefined>()
    let version = FORMAT_VERSION
    const writer = new SliceWriter(log)
    writer.put(BEGIN)
    for (const { state, snapshot, disk } of changed) {
      const text = snapshot === undefined ? deletionText(state.name) : streamText(state, snapshot, disk)
      if (snapshot !== undefined && snapshot.next > disk.next) version = KEPT_VERSION
      if (!writer.hasRoom(text.length)) await writer.flush()
      const seq = writer.put(text)
      newSeqs.set(state.name, snapshot === undefined ? undefined : seq)
    }
    const stored = { end: groupStart, bytes: 0 }
    for (const text of requestTexts(requests)) {
      if (!writer.hasRoom(text.length)) await writer.flush()
      stored.end = writer.put(text) + 1
      stored.bytes += text.length
    }
    const liveFrom = await this.#moveOldest(groupStart, writer, newSeqs)
    this.#requests = this.#requests.filter(({ end }) => end > liveFrom)
    if (stored.bytes > 0) this.#requests.push(stored)
    await writer.flush()
    await log.append(JSON.stringify({ kind: 'commit', version, ...head }), { durability: level })
    await this.#noteAll(newSeqs)
    this.#liveFrom = liveFrom
  }

  /** Removes segments without live records. */
  async trim(): Promise<void> {
    if (this.#liveFrom > this.#log.firstSeq) await this.#log.trimBefore(this.#liveFrom)
  }

  close(): Promise<void> {
    return this.#log.close()
  }

  /**
   * Copies live entries from the beginning of the catalog to its end. Returns the seq before which no record is live
   * when the group is complete.
   */
  async #moveOldest(groupStart: number, writer: SliceWriter, newSeqs: NameMap<number | undefined>): Promise<number> {
    const from = Math.max(this.#liveFrom, this.#log.firstSeq)
    const requestBytes = this.#requests.reduce((sum, { bytes }) => sum + bytes, 0)
    if (groupStart - from <= 2 * this.#live.size + SLACK_RECORDS && requestBytes <= SLACK_BYTES) return from
    // Look at twice as many records as this group has added, so that the catalog becomes shorter.
    const end = Math.min(from + 2 * (writer.next - groupStart) + SLICE_RECORDS, groupStart)
    const slice = new TimeSlice()
    for await (const batch of this.#log.read({ from, to: end }).batches(BATCH_RECORDS)) {
      for (const { seq, data } of batch) {
        if (slice.isOver()) await slice.nextTurn()
        const record = parseRecord(this.#log.dir, seq, data)
        if (record.kind !== 'stream' || this.#live.get(record.name) !== seq || newSeqs.has(record.name)) continue
        if (!writer.hasRoom(data.length)) await writer.flush()
        newSeqs.set(record.name, writer.put(data))
      }
    }
    return end
  }

  /**
   * Notes the entries of a complete group: the name and the seq of each, which is undefined if the stream was deleted.
   * Pauses for the event loop, because a group can contain all streams.
   */
  async #noteAll(entries: Iterable<[name: string, seq: number | undefined]>): Promise<void> {
    const slice = new TimeSlice()
    for (const [name, seq] of entries) {
      if (slice.isOver()) await slice.nextTurn()
      if (seq === undefined) this.#live.delete(name)
      else this.#live.set(name, seq)
    }
  }
}

/** Pairs made one at a time: the garbage collector would have to move 100,000 of them. */
function* pairsOf<A, B>(first: readonly A[], second: readonly B[]): Generator<[A, B], void, undefined> {
  for (const [at, one] of first.entries()) yield [one, second[at] as B]
}

/** Takes the records of a catalog, group by group. */
interface GroupReader {
  /** A group begins. If the records since the last call were not committed, their checkpoint did not end. */
  begin(): void
  add(record: Exclude<StoredRecord, { kind: 'begin' | 'commit' }>, seq: number, data: Buffer): void
  commit(head: CatalogHead): Promise<void> | void
}

/**
 * Reads the catalog `log`. Throws ERR_DURLOG_CORRUPT, ERR_DURLOG_VERSION if a newer version of durlog has written the
 * catalog, or ERR_DURLOG_OUT_OF_RANGE if its owner, another process, has trimmed it meanwhile.
 */
async function readGroups(log: Log | ReadOnlyLog, reader: GroupReader): Promise<void> {
  const slice = new TimeSlice()
  /** The first record of the group that is wrong. A group does not count without a commit, so it is no error yet. */
  let wrong: { seq: number; member: string } | undefined
  let lastCreated = -1
  for await (const batch of log.read({ from: log.firstSeq, to: log.nextSeq }).batches(BATCH_RECORDS)) {
    for (const { seq, data } of batch) {
      if (slice.isOver()) await slice.nextTurn()
      const record = parseRecord(log.dir, seq, data)
      const member = wrongMember(record)
      if (member !== undefined) wrong ??= { seq, member }
      if (record.kind === 'commit') {
        if (lastCreated >= record.position) wrong ??= { seq, member: 'position' }
        // A value that durlog does not write: see `wrongMember`.
        if (wrong !== undefined) throw wrongRecord(log.dir, wrong.seq, `has an impossible value of "${wrong.member}"`)
        const { kind, ...head } = record
        await reader.commit(head)
      } else if (record.kind !== 'begin') {
        if (record.kind === 'stream') lastCreated = Math.max(lastCreated, record.created)
        if (member === undefined) reader.add(record, seq, data)
        continue
      }
      wrong = undefined
      lastCreated = -1
      reader.begin()
    }
  }
}

/**
 * Reads the catalog in `path`, which another process may have open, as `readGroups` does. If a checkpoint of that
 * process has trimmed it meanwhile, begins again with a new reader.
 */
export async function readGroupsIn(path: string, makeReader: () => GroupReader): Promise<void> {
  for (let pass = 1; ; pass++) {
    try {
      await using log = await open(path, { readOnly: true })
      return await readGroups(log, makeReader())
    } catch (error) {
      if (!isCode(error, 'ERR_DURLOG_OUT_OF_RANGE') || pass === MAX_PASSES) throw error
    }
  }
}

/**
 * Parses record `seq` of the catalog in `dir`. Throws ERR_DURLOG_CORRUPT, or ERR_DURLOG_VERSION if a newer version of
 * durlog has written its group: the other records of the group may be different, too.
 */
function parseRecord(dir: string, seq: number, data: Buffer): StoredRecord {
  let record: StoredRecord
  try {
    record = Object(JSON.parse(data.toString()))
  } catch (cause) {
    throw wrongRecord(dir, seq, 'is not JSON', cause)
  }
  if (record.kind !== 'commit' || !(record.version > KEPT_VERSION)) return record
  throw new DurlogError('ERR_DURLOG_VERSION', `a newer version of durlog wrote the catalog in ${dir}: use that version`)
}

function wrongRecord(dir: string, seq: number, problem: string, cause?: unknown): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `record ${seq} of the catalog in ${dir} ${problem}, so another program has written it: restore the folder of streams from a copy`,
    { path: dir, lostFirst: seq, lostLast: seq, cause },
  )
}

/** Appends records in slices, so that neither the memory nor a turn of the event loop has to take all of them. */
export class SliceWriter {
  readonly #log: Log
  #records: (string | Buffer)[] = []
  #length = 0
  /** The seq of the next record. */
  next: number

  constructor(log: Log) {
    this.#log = log
    this.next = log.nextSeq
  }

  /**
   * Whether a record of `length` characters fits into the current slice. A longer record than SLICE_LENGTH has its own
   * slice.
   */
  hasRoom(length: number): boolean {
    return this.#records.length < SLICE_RECORDS && (this.#length === 0 || this.#length + length <= SLICE_LENGTH)
  }

  /** Adds a record to the slice and returns its seq. */
  put(record: string | Buffer): number {
    this.#records.push(record)
    this.#length += record.length
    return this.next++
  }

  async flush(): Promise<void> {
    const records = this.#records
    if (records.length === 0) return
    this.#records = []
    this.#length = 0
    await this.#log.appendBatch(records, { durability: 'memory' })
    // With `memory` the append may have settled without a turn of the event loop.
    await nextTurn()
  }
}
