/** Opens a folder of streams: opens its two logs and loads the state that they contain. */
import { readdir } from 'node:fs/promises'
import { DurlogError, isCode } from '../../errors.js'
import { native } from '../../native/native.js'
import { type FramingLog as Log, openFraming } from '../../open.js'
import { longestRecordBytes } from '../../options/open-options.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import { segmentSeqs } from '../../support/segment-name.js'
import { STREAMS_CURSOR } from '../../support/streams-log.js'
import { TimeSlice } from '../../support/time-slice.js'
import type { StepHook } from '../files/file-repair.js'
import { FolderFiles } from '../files/folder-files.js'
import { HeldFolders } from '../files/held-folders.js'
import type { OpenFolder } from '../files/open-folder.js'
import { checkEncoding, RECORD_MAX_BYTES } from '../port/encoding.js'
import type { ResolvedStreamsOptions } from '../port/options.js'
import type { StreamEncoding } from '../port/types.js'
import { Arena } from '../state/arena.js'
import { CATALOG_SEGMENT_BYTES, Catalog } from '../state/catalog.js'
import type { CatalogHead } from '../state/catalog-records.js'
import { decodeEntry, type Entry, EntryKind } from '../state/entry.js'
import type { StreamState } from '../state/state.js'
import { StreamTable } from '../state/table.js'
import { LocalPort } from './local-port.js'

const LOG_SEGMENT_BYTES = 16 << 20
/** The size of the first segment of both logs, so that an empty folder takes little space. */
const FIRST_SEGMENT_BYTES = 1 << 18
/** At least the overhead of an entry in the log: header, name, producer, request, writerSeq. */
const ENTRY_OVERHEAD_BYTES = 4096

const REPLAYED_AT_ONCE = 256

/** Options for the owner and for trials. */
export interface Internals {
  /** Called before each step of a checkpoint. */
  onStep?: StepHook
  /** Returns the number of steps after which a job of a checkpoint stops. */
  stepLimit?: () => number
  logSegmentBytes?: number
  /**
   * Set by the owner: the port is returned before the records of the log are in the files.
   */
  forClients?: boolean
  /** Called and awaited when this process has taken the folder's lock. */
  onLocked?: () => void | Promise<void>
  /** Called and awaited after `onLocked` if the folder cannot be opened, before its lock is released. */
  onFailed?: () => Promise<void>
}

/** Opens the folder in this process. `dir` is an absolute path. */
export async function openLocal(
  dir: string,
  options: ResolvedStreamsOptions,
  internals: Internals,
): Promise<LocalPort> {
  const { logSegmentBytes = LOG_SEGMENT_BYTES, onLocked = () => {} } = internals
  const files = new FolderFiles(dir)
  await refuseLog(files.dir)
  const log = await openFraming(
    files.log,
    {
      durability: options.durability === 'replicated' ? 'sync' : options.durability,
      replicate: options.replicate,
      segmentBytes: logSegmentBytes,
      maxRecordBytes: Math.min(RECORD_MAX_BYTES + ENTRY_OVERHEAD_BYTES, longestRecordBytes(logSegmentBytes)),
      waitMs: options.waitMs,
      signal: options.signal,
      create: options.create,
    },
    Math.min(FIRST_SEGMENT_BYTES, logSegmentBytes),
  ).catch((error) => {
    throw isCode(error, 'ERR_DURLOG_NOT_FOUND') && !options.create ? noStreams(files.dir) : error
  })
  try {
    await onLocked()
    return await openOwned(files, log, options, internals)
  } catch (error) {
    await internals.onFailed?.()
    await log.close()
    throw ofFileSystem(error, files.dir)
  }
}

async function openOwned(
  files: FolderFiles,
  log: Log,
  options: ResolvedStreamsOptions,
  internals: Internals,
): Promise<LocalPort> {
  const { onStep = () => {}, stepLimit = () => Number.POSITIVE_INFINITY, forClients = false } = internals
  const made = files.make()
  const ended = made.catch(() => {})
  let catalogLog: Log | undefined
  try {
    catalogLog = await openFraming(files.catalog, { segmentBytes: CATALOG_SEGMENT_BYTES }, FIRST_SEGMENT_BYTES)
    const catalog = new Catalog(catalogLog)
    const { head = await begin(log, catalog, options.encoding), table } = await load(log, catalog)
    await made
    // The destination learns from the catalog that the log belongs to streams.
    log.replicate()
    // Readers must not see a record that a takeover has removed, or may remove.
    if (options.durability === 'replicated') await log.reachedAt('replicated')
    if (options.acceptClock) await acceptClock(log, catalog, table, head)
    const { encoding, position } = head
    const fitting = withEncoding(files.dir, options, encoding)
    const cursor = await log.cursor(STREAMS_CURSOR)
    const opened: OpenFolder = {
      log,
      catalog,
      cursor,
      files,
      storage: await native.openStreamFiles(files.recordsFolder, files.indexFolder),
      folders: await HeldFolders.at([files.recordsFolder, files.indexFolder]),
      table,
      position,
      load: async () => (await load(log, catalog)).table,
    }
    const port = new LocalPort(opened, fitting, { onStep, stepLimit })
    // If this checkpoint fails, the records are still in the log, the streams can be read, and the next checkpoint
    // tries again.
    if (forClients) port.checkpointSoon()
    else if (table.dirty.size > 0) await port.checkpoint().catch(() => {})
    return port
  } catch (error) {
    await ended
    await catalogLog?.close()
    throw error
  }
}

/**
 * Lets the next record have the time of the present clock although the latest time of all records is later. If the log
 * has records after `head`, the next checkpoint stores this.
 */
async function acceptClock(
  log: Log,
  catalog: Catalog,
  table: StreamTable,
  head: Omit<CatalogHead, 'version'>,
): Promise<void> {
  const lastTimeMs = Date.now()
  if (table.lastTimeMs <= lastTimeMs) return
  table.lastTimeMs = lastTimeMs
  if (head.position === log.nextSeq) await catalog.store([], table.dedup.stored(), { ...head, lastTimeMs })
}

/** Stores the first head in an empty catalog and returns it. */
async function begin(log: Log, catalog: Catalog, encoding: StreamEncoding): Promise<Omit<CatalogHead, 'version'>> {
  if (log.nextSeq > 0) throw mismatch(log, 'the catalog is empty or missing')
  const head = { log: log.uuid, encoding, position: 0, lastTimeMs: 0, voids: [] }
  await catalog.store([], [], head)
  return head
}

/** Returns the options with the folder's encoding. Throws if the caller has chosen another encoding. */
function withEncoding(dir: string, options: ResolvedStreamsOptions, encoding: StreamEncoding): ResolvedStreamsOptions {
  checkEncoding(dir, options.encodingNamed ? options.encoding : undefined, encoding)
  return { ...options, encoding }
}

/** Loads the state from the catalog, and applies the log's records after it. */
async function load(log: Log, catalog: Catalog): Promise<{ head: CatalogHead | undefined; table: StreamTable }> {
  const { head, requests, streams, withOptions } = await catalog.load()
  const table = new StreamTable(streams)
  const slice = new TimeSlice()
  for (const state of withOptions) {
    if (slice.isOver()) await slice.nextTurn()
    table.adopt(state)
  }
  if (head === undefined) return { head, table }
  if (head.log !== log.uuid)
    throw mismatch(log, `the catalog belongs to the log with the UUID ${head.log}, but this log has ${log.uuid}`)
  if (head.position < log.firstSeq || head.position > log.nextSeq)
    throw mismatch(
      log,
      `the catalog needs the log from record ${head.position} on, but the log has the records ${log.firstSeq} to ${log.nextSeq - 1}`,
    )
  table.lastTimeMs = head.lastTimeMs
  for (const at of head.voids) table.voids.add(at)
  await table.dedup.load(requests)
  await loadKept(
    log,
    table,
    withOptions.filter(({ keptFrom }) => keptFrom !== undefined),
    head,
  )
  await replay(log, table, head.position)
  table.dedup.loaded()
  return { head, table }
}

/** Loads the records of `behind`, the streams whose files are behind the catalog, from the log before the head. */
async function loadKept(
  log: Log,
  table: StreamTable,
  behind: StreamState[],
  { position, voids }: CatalogHead,
): Promise<void> {
  if (behind.length === 0) return
  // Not by one call of Math.min: the stack has no room for the arguments of 130,000 streams.
  const from = behind.reduce((least, { keptFrom = 0 }) => Math.min(least, keptFrom), position)
  if (from < log.firstSeq)
    throw mismatch(
      log,
      `the catalog needs the log from record ${from} on, but the log begins with record ${log.firstSeq}`,
    )
  const wanted = new Set(behind)
  const uncounted = new Set(voids)
  const kept: number[] = []
  const slice = new TimeSlice()
  for await (const records of log.read({ from, to: position }).batches(REPLAYED_AT_ONCE)) {
    for (const { seq, data } of records) {
      if (slice.isOver()) await slice.nextTurn()
      const { kind, stream, seq: place, timeMs, valueAt, end } = decodeEntry(data, seq)
      const state = table.find(stream)
      if (state === undefined || !wanted.has(state) || seq < (state.keptFrom as number)) continue
      if (kind !== EntryKind.append || place !== state.disk.next + state.unflushed.length || uncounted.has(seq))
        continue
      table.memTable.add(seq, { bytes: Buffer.from(data), valueAt, end }, timeMs)
      state.unflushed.push(seq)
      kept.push(seq)
    }
  }
  // They become one slab: each job of a checkpoint looks at all slabs.
  await table.memTable.releaseBefore(position, Float64Array.from(kept))
  for (const state of behind) {
    if (state.disk.next + state.unflushed.length !== state.next)
      throw mismatch(log, `the log does not have all records of the stream "${state.name}" that its file needs`)
    state.keptFrom = undefined
  }
}

async function replay(log: Log, table: StreamTable, from: number): Promise<void> {
  if (from === log.nextSeq) return
  const memory = new Arena()
  const slice = new TimeSlice()
  let entries: Entry[] = []
  for await (const records of log.read({ from }).batches(REPLAYED_AT_ONCE)) {
    for (const { seq, data } of records) {
      if (slice.isOver()) await slice.nextTurn()
      // Copy the bytes: the reader's buffer is part of a larger block, which the table would keep in memory.
      const bytes = memory.reserve(data.length)
      const { start } = memory
      memory.end = start + data.copy(bytes, start)
      memory.keep()
      const entry = decodeEntry(data, seq)
      entries.push({ ...entry, bytes, valueAt: start + entry.valueAt, end: memory.end })
      if (entry.continues) continue
      table.replay(entries, seq - entries.length + 1)
      entries = []
    }
  }
}

/**
 * Throws if the folder contains a log and no streams. A log that was created later in a folder of streams does not
 * matter.
 */
async function refuseLog(dir: string): Promise<void> {
  const names = await readdir(dir).catch((): string[] => [])
  if (names.includes('catalog') || segmentSeqs(names).length === 0) return
  throw new DurlogError(
    'ERR_DURLOG_NOT_A_LOG',
    `${dir} contains a log, not streams: open it with open() (durlog cat DIR), or choose another folder`,
    {
      path: dir,
    },
  )
}

function noStreams(dir: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `there are no streams in ${dir}: check the path, or create them with create: true (durlog streams DIR append NAME)`,
    { path: dir },
  )
}

function mismatch(log: Log, reason: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `the log in ${log.dir} and its catalog do not belong together: ${reason}; restore the whole folder from one copy`,
    { path: log.dir },
  )
}
