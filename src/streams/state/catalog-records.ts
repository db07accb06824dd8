/** The records of the catalog, as JSON. See docs/FORMAT.md, "The catalog". */

import { defaultMeta, loadedMeta, type StoredMeta } from '../port/meta.js'
import type { StreamEncoding } from '../port/types.js'
import type { RequestSeqs, StoredRequests } from './dedup-table.js'
import { type FileDisk, type ProducerState, type StreamDisk, type StreamSnapshot, StreamState } from './state.js'

/** The state of the folder, which ends a group. */
export interface CatalogHead {
  version: number
  /** The UUID of the main log. */
  log: string
  encoding: StreamEncoding
  /** The entries of the main log before this position are in the files and in the catalog. */
  position: number
  lastTimeMs: number
  /** The positions of entries before `position` that do not count and may still be in the log. */
  voids: number[]
}

/** The requests of one client before the position of the head whose answers may not have arrived. */
interface ClientRequests {
  kind: 'requests'
  client: string
  requests: RequestSeqs[]
}

type StoredFile = [first: number, next: number, bytes: number, crc: number, index: string, ...times: number[]]

/** A stream's entry. Members without a value are missing. */
export interface StoredStream {
  kind: 'stream'
  name: string
  created: number
  ended?: true | undefined
  endedFrom?: number | undefined
  gone?: true | undefined
  writerSeq?: string | undefined
  updatedMs?: number | undefined
  /** Only the encoding if the stream has no other options. */
  meta: StoredMeta | StreamEncoding
  disk: StoredFile
  older?: StoredFile[] | undefined
  dropped?: readonly number[] | undefined
  /** If the files could not be written: the seq after the last record, and the position of the first missing one. */
  kept?: [next: number, from: number] | undefined
  producers?: [id: string, epoch: number, seq: number, recent: number[]][] | undefined
}

export type StoredRecord =
  | { kind: 'begin' }
  | StoredStream
  | { kind: 'gone'; name: string }
  | ClientRequests
  | ({ kind: 'commit' } & CatalogHead)

/** A stream that a checkpoint has stored. Without `snapshot` the stream was deleted. */
export interface CatalogChange {
  state: StreamState
  snapshot: StreamSnapshot | undefined
  disk: StreamDisk
}

export function streamText(state: StreamState, snapshot: StreamSnapshot, disk: StreamDisk): string {
  const { name, created, meta } = state
  const { ended, endedFrom, softDeleted, writerSeq, updatedMs } = snapshot
  const { older = [], dropped } = disk
  const stored: StoredStream = {
    kind: 'stream',
    name,
    created,
    ended: ended || undefined,
    endedFrom,
    gone: softDeleted || undefined,
    writerSeq,
    updatedMs,
    meta: meta === defaultMeta(meta.encoding) ? meta.encoding : meta,
    disk: storedFile(disk),
    older: older.length === 0 ? undefined : older.map(storedFile),
    dropped,
    kept: snapshot.next > disk.next ? [snapshot.next, state.unflushed.at(0)] : undefined,
    producers: snapshot.producers.size === 0 ? undefined : storedProducers(snapshot),
  }
  return JSON.stringify(stored)
}

function storedFile({ first, next, bytes, crc, index, times }: FileDisk): StoredFile {
  return [first, next, bytes, crc, index.toString('base64'), ...(times ?? [])]
}

function loadedFile([first, next, bytes, crc, index, firstMs, lastMs]: StoredFile): FileDisk {
  const file = { first, next, bytes, crc, index: Buffer.from(index, 'base64') }
  return firstMs === undefined || lastMs === undefined ? file : { ...file, times: [firstMs, lastMs] }
}

function storedProducers({ producers }: StreamSnapshot): StoredStream['producers'] {
  return [...producers].map(([id, { epoch, seq, recent }]) => [id, epoch, seq, recent])
}

export function deletionText(name: string): string {
  const stored: StoredRecord = { kind: 'gone', name }
  return JSON.stringify(stored)
}

/** The numbers of a record of requests. A longer request has its own record. */
const REQUESTS_NUMBERS = 1024

/** Records of the requests. Each has a limited length: all requests of all clients may not fit into one record. */
export function* requestTexts(stored: StoredRequests): Generator<string, void, undefined> {
  for (const [client, all] of stored) {
    let requests: RequestSeqs[] = []
    let numbers = 0
    for (const request of all) {
      requests.push(request)
      numbers += 1 + request[1].length
      if (numbers < REQUESTS_NUMBERS) continue
      yield JSON.stringify({ kind: 'requests', client, requests } satisfies ClientRequests)
      requests = []
      numbers = 0
    }
    if (requests.length > 0) yield JSON.stringify({ kind: 'requests', client, requests } satisfies ClientRequests)
  }
}

/** The stream of an entry. `source` of a fork is not set yet. */
export function loadedStream(stored: StoredStream): StreamState {
  const { name, created, ended, endedFrom, gone, writerSeq, updatedMs, meta, disk, older, dropped, kept, producers } =
    stored
  const options = typeof meta === 'string' ? defaultMeta(meta) : loadedMeta(meta)
  const newest = loadedFile(disk)
  const loaded = options.retention === undefined ? newest : { ...newest, older: older?.map(loadedFile) ?? [], dropped }
  const state = new StreamState(name, created, loaded, options, undefined)
  if (kept !== undefined) [state.next, state.keptFrom] = kept
  state.visible = state.next
  state.creationVisible = true
  state.softDeleted = gone === true
  state.writerSeq = writerSeq
  state.updatedMs = updatedMs
  state.ended = ended === true
  state.endVisible = state.ended
  state.endedFrom = endedFrom
  if (producers !== undefined)
    state.producers = new Map<string, ProducerState>(
      producers.map(([id, epoch, seq, recent]) => [id, { epoch, seq, recent }]),
    )
  return state
}
