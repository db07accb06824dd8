/**
 * Reads the last checkpoint of a folder of streams, and makes a folder from one. Other processes may use the folder
 * that is read: a checkpoint may remove or replace a file, whose checksum then differs.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DurlogError } from '../../errors.js'
import { native } from '../../native/native.js'
import { openRestored } from '../../open.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import { TimeSlice } from '../../support/time-slice.js'
import { codecOf } from '../port/encoding.js'
import { BEGIN, CATALOG_SEGMENT_BYTES, Catalog, readGroupsIn, SliceWriter } from '../state/catalog.js'
import { wrongMember } from '../state/catalog-check.js'
import { type CatalogHead, loadedStream, type StoredRecord, type StoredStream } from '../state/catalog-records.js'
import { INDEX_ENTRY_BYTES } from '../state/record-index.js'
import type { FileDisk, StreamState } from '../state/state.js'
import { problemOf, ReadFile, readRange } from './file-io.js'
import { FolderFiles, recordsName } from './folder-files.js'

const READ_AT_ONCE = 1 << 20

export interface FolderCheckpoint {
  head: CatalogHead
  /** The folder needs the main log from this position on. */
  from: number
  streams: StoredStream[]
}

/** A part of a folder's content: the beginning of a file. */
export interface FileContent {
  path: string
  bytes: number
  /** The CRC-32C of the bytes; undefined if the catalog does not have it. */
  crc: number | undefined
}

/** Reads the last checkpoint of the streams in `dir`. */
export async function readCheckpoint(dir: string): Promise<FolderCheckpoint> {
  const path = new FolderFiles(dir).catalog
  let streams = new Map<string, StoredStream>()
  let head: CatalogHead | undefined
  const slice = new TimeSlice()
  await readGroupsIn(path, () => {
    const found = new Map<string, StoredStream>()
    let group: (StoredStream | string)[] = []
    return {
      begin: () => {
        group = []
      },
      add: (record) => {
        if (record.kind !== 'requests') group.push(record.kind === 'stream' ? record : record.name)
      },
      commit: async (committed) => {
        for (const one of group) {
          if (slice.isOver()) await slice.nextTurn()
          if (typeof one === 'string') found.delete(one)
          else found.set(one.name, one)
        }
        head = committed
        streams = found
      },
    }
  })
  if (head === undefined) throw new DurlogError('ERR_DURLOG_NOT_FOUND', `${path} has no checkpoint`, { path })
  let from = head.position
  for (const { kept } of streams.values()) {
    if (slice.isOver()) await slice.nextTurn()
    from = Math.min(from, kept?.[1] ?? from)
  }
  return { head, from, streams: [...streams.values()] }
}

/** The names of a file in `streams/` and of its index in `index/`. */
export interface FileNames {
  records: string
  index: string
}

/** The files of a stream that have records, the oldest first. */
export function filesOf(state: StreamState): { names: FileNames; disk: FileDisk }[] {
  const { disk, meta } = state
  return [...(disk.older ?? []), disk]
    .filter(({ bytes }) => bytes > 0)
    .map((part) => {
      const index = state.fileName(part.first)
      return { names: { records: recordsName(index, codecOf(meta.encoding)), index }, disk: part }
    })
}

/** The length of the index file of `disk`. */
export function indexBytesOf({ first, next, index }: FileDisk): number {
  return (next - first) * INDEX_ENTRY_BYTES - index.length
}

/**
 * The files of a stream with their contents. The index must be read first: a checkpoint that replaces a file by one of
 * another stream replaces the index afterwards.
 */
export function contentsOf(dir: string, stream: StoredStream): { index: FileContent; records: FileContent }[] {
  const files = new FolderFiles(dir)
  return filesOf(loadedStream(stream)).map(({ names, disk }) => ({
    index: { path: files.index(names.index), bytes: indexBytesOf(disk), crc: undefined },
    records: { path: join(files.recordsFolder, names.records), bytes: disk.bytes, crc: disk.crc },
  }))
}

/**
 * Yields the bytes of a file from offset `from` to offset `to`, each with the CRC-32C of the file up to its end, if
 * that of the bytes before `from` is `crc`. Ends early if the file does.
 */
export async function* readContent(
  path: string,
  { from, to, crc }: { from: number; to: number; crc: number },
): AsyncGenerator<{ bytes: Buffer; crc: number }> {
  let file: ReadFile | undefined
  try {
    file = await ReadFile.open(path)
    let sum = crc
    for (let at = from; at < to; at += READ_AT_ONCE) {
      const bytes = await readRange(file, at, Math.min(at + READ_AT_ONCE, to))
      if (bytes.length === 0) return
      sum = native.crc32c(sum, bytes)
      yield { bytes, crc: sum }
    }
  } catch (error) {
    // Another program has removed the file, or put a folder in its place.
    if (problemOf(error, path) === undefined) throw ofFileSystem(error)
  } finally {
    await file?.close()
  }
}

/** Returns one of `buckets` numbers for the stream `name`. */
export function bucketOf(name: string, buckets: number): number {
  return native.crc32c(0, Buffer.from(name)) % buckets
}

/** Whether a record of a checkpoint, which may come from any program, is a stream, and its names are safe. */
export function isStream(record: unknown): record is StoredStream {
  return (record as { kind?: unknown } | null)?.kind === 'stream' && wrongMember(record) === undefined
}

/** As `isStream`, for the head of a checkpoint. */
export function isHead(head: unknown): head is CatalogHead {
  return wrongMember({ ...Object(head), kind: 'commit' }) === undefined
}

/** Makes the empty folders of the streams in `dir`. Removes the files of an earlier call. */
export async function beginFolder(dir: string): Promise<void> {
  const files = new FolderFiles(dir)
  for (const path of [files.recordsFolder, files.indexFolder, files.catalog])
    await rm(path, { recursive: true, force: true })
  await files.make()
}

/** Makes the catalog of the streams in `dir`, whose files are complete. Rejects with ERR_DURLOG_CORRUPT. */
export async function finishFolder(
  dir: string,
  { head, streams }: Pick<FolderCheckpoint, 'head' | 'streams'>,
): Promise<void> {
  const files = new FolderFiles(dir)
  await files.sync()
  await using catalog = await openRestored(files.catalog, undefined, { segmentBytes: CATALOG_SEGMENT_BYTES })
  const writer = new SliceWriter(catalog)
  writer.put(BEGIN)
  for (const stream of streams) {
    const text = JSON.stringify(stream)
    if (!writer.hasRoom(text.length)) await writer.flush()
    writer.put(text)
  }
  await writer.flush()
  await catalog.append(JSON.stringify({ kind: 'commit', ...head } satisfies StoredRecord), { durability: 'full' })
  // Every value that the archive has given is checked here, before the restored streams are used.
  await new Catalog(catalog).load()
}
