/**
 * The objects of an archived checkpoint of a folder of streams. docs/ARCHIVE.md describes them. Every value is checked
 * here: the store chooses them.
 */
import { DurlogError } from '../errors.js'
import { isHead, isStream } from '../streams/files/folder-checkpoint.js'
import type { CatalogHead, StoredStream } from '../streams/state/catalog-records.js'
import { MAX_OBJECT_BYTES } from './piece.js'
import type { StoredFields } from './stored-fields.js'

export const CHECKPOINT_VERSION = 1
const CRC_MAX = 2 ** 32 - 1

/** A range of a pack: a part of a file, whose CRC-32C up to the end of the part is `crc`. */
export interface Slice {
  /** The SHA-256 of the pack, in hexadecimal. */
  pack: string
  offset: number
  length: number
  crc: number
}

export interface PackFacts {
  bytes: number
  /** The bytes that the checkpoint uses. */
  live: number
  /** When the pack was made, by the clock of the archiver. */
  madeMs: number
}

/** The object of a checkpoint. */
export interface CheckpointManifest {
  /** The generation of the log. */
  generation: number
  /** The restored folder needs the main log from this seq on. */
  from: number
  archivedMs: number
  head: CatalogHead
  packs: Map<string, PackFacts>
  /** The texts with the streams. */
  buckets: { sha256: string; slice: Slice }[]
}

/** A stream, and the slices of each of its files, in the order of `contentsOf`. */
export interface ArchivedStream {
  stream: StoredStream
  files: ArchivedFile[]
}

export interface ArchivedFile {
  index: Slice[]
  records: Slice[]
}

type StoredSlice = [pack: number, offset: number, length: number, crc: number]

export function manifestText({ packs, buckets, ...rest }: CheckpointManifest): string {
  const numbers = new Map([...packs.keys()].map((name, at) => [name, at]))
  return JSON.stringify({
    version: CHECKPOINT_VERSION,
    ...rest,
    packs: [...packs].map(([sha256, { bytes, live, madeMs }]) => [sha256, bytes, live, madeMs]),
    buckets: buckets.map(({ sha256, slice }) => [
      sha256,
      [numbers.get(slice.pack), slice.offset, slice.length, slice.crc],
    ]),
  })
}

/** Throws ERR_DURLOG_VERSION or ERR_DURLOG_CORRUPT. */
export function toManifest(fields: StoredFields): CheckpointManifest {
  const version = fields.whole('version')
  if (version > CHECKPOINT_VERSION)
    throw new DurlogError(
      'ERR_DURLOG_VERSION',
      `the archive has a checkpoint of version ${version}; this durlog reads ${CHECKPOINT_VERSION}: update it`,
    )
  const head = fields.checked('head', isHead, 'the end of a checkpoint')
  const packs = new Map(
    fields.list('packs', (pack): [string, PackFacts] => [
      pack.sha256('0'),
      {
        bytes: pack.whole('1', { min: 1, max: MAX_OBJECT_BYTES }),
        live: pack.whole('2'),
        madeMs: pack.whole('3'),
      },
    ]),
  )
  const names = [...packs.keys()]
  return {
    generation: fields.whole('generation'),
    from: fields.whole('from', { max: head.position }),
    archivedMs: fields.whole('archivedMs'),
    head,
    packs,
    buckets: fields.list('buckets', (bucket) => ({
      sha256: bucket.sha256('0'),
      slice: toSlice(bucket.within('1'), names),
    })),
  }
}

function toSlice(fields: StoredFields, packs: readonly string[]): Slice {
  return {
    pack: packs[fields.whole('0', { max: packs.length - 1 })] as string,
    offset: fields.whole('1', { max: MAX_OBJECT_BYTES }),
    length: fields.whole('2', { min: 1, max: MAX_OBJECT_BYTES }),
    crc: fields.whole('3', { max: CRC_MAX }),
  }
}

/** The text with some streams. It names packs itself, so that it stays the same if other packs change. */
export function bucketText(streams: readonly ArchivedStream[]): string {
  const names = new Map<string, number>()
  const numbered = ({ pack, offset, length, crc }: Slice): StoredSlice => {
    const at = names.get(pack) ?? names.size
    names.set(pack, at)
    return [at, offset, length, crc]
  }
  const rows = streams.map(({ stream, files }) => [
    stream,
    files.map(({ index, records }) => [index.map(numbered), records.map(numbered)]),
  ])
  return JSON.stringify({ packs: [...names.keys()], streams: rows })
}

/** Throws ERR_DURLOG_CORRUPT. */
export function toStreams(fields: StoredFields): ArchivedStream[] {
  const packs = fields.list('packs', (_, name, all) => all.sha256(name))
  return fields.list('streams', (row) => ({
    stream: row.checked('0', isStream, 'a stream'),
    files: row.list('1', (file) => ({
      index: file.list('0', (slice) => toSlice(slice, packs)),
      records: file.list('1', (slice) => toSlice(slice, packs)),
    })),
  }))
}
