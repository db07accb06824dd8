/**
 * Uploads the last checkpoint of a folder of streams: only those parts of its files that the archive does not have. The
 * files of streams only grow, so of a file that has grown this is its end.
 */
import {
  bucketOf,
  contentsOf,
  type FileContent,
  readCheckpoint,
  readContent,
} from '../streams/files/folder-checkpoint.js'
import type { StoredStream } from '../streams/state/catalog-records.js'
import { TimeSlice } from '../support/time-slice.js'
import type { Bucket } from './bucket.js'
import {
  type ArchivedFile,
  type ArchivedStream,
  bucketText,
  type CheckpointManifest,
  type PackFacts,
  type Slice,
} from './checkpoint-format.js'
import { PackWriter } from './pack-writer.js'
import { sha256Of } from './piece.js'

/** An archived checkpoint with its streams, which the next one continues. */
export interface ArchivedCheckpoint {
  manifest: CheckpointManifest
  streams: Map<string, ArchivedStream>
}

export interface UploadOptions {
  /** The folder of the streams. */
  dir: string
  /** The generation of the main log. */
  generation: number
  /** A pack that has bytes of no use is replaced when it is older than this. */
  historyMs: number
  /** Called after each object. */
  onStored: () => void
}

/** How often the catalog is read again because a checkpoint has replaced files meanwhile. */
const MAX_PASSES = 5
/** A bucket has the texts of about this many streams. A change of one stream uploads its bucket. */
const STREAMS_IN_BUCKET = 256
/** If more packs than SMALL_PACKS have fewer than SMALL_BYTES, they are replaced by larger ones. */
const SMALL_BYTES = 2 ** 20
const SMALL_PACKS = 16

/** Uploads the objects that the manifest names. They have no effect before the manifest is stored. */
export async function uploadCheckpoint(
  bucket: Bucket,
  root: string,
  base: ArchivedCheckpoint | undefined,
  { dir, generation, historyMs, onStored }: UploadOptions,
): Promise<ArchivedCheckpoint> {
  const writer = new PackWriter(bucket, root, onStored)
  const archivedMs = Date.now()
  let earlier: ReadonlyMap<string, ArchivedStream> = base?.streams ?? new Map()
  for (let pass = 1; ; pass++) {
    const { streams: found, ...rest } = await readCheckpoint(dir)
    const known = new Map([...(base?.manifest.packs ?? []), ...writer.stored])
    const buckets = base?.manifest.buckets ?? []
    const turn = new TimeSlice()
    const kept = sameStreams(earlier, found)
    const replaced = packsToReplace(await liveBytes(known, kept, buckets, turn), { now: archivedMs, historyMs })
    const streams = new Map<string, ArchivedStream>()
    const wrong = new Set<string>()
    for (const stream of found) {
      if (turn.isOver()) await turn.nextTurn()
      const { files, isRight } = await copyStream(writer, dir, stream, sameStream(earlier, stream), replaced)
      streams.set(stream.name, { stream, files })
      if (!isRight) wrong.add(stream.name)
    }
    await writer.flush()
    // In the last pass, another program has changed the files: the archive gets them as they are.
    if (wrong.size > 0 && pass < MAX_PASSES) {
      for (const name of wrong) streams.delete(name)
      earlier = streams
      continue
    }
    const stored = await storeBuckets(writer, streams, { earlier: buckets, replaced, turn })
    const all = await liveBytes(new Map([...known, ...writer.stored]), streams.values(), stored, turn)
    const packs = new Map([...all].filter(([, { live }]) => live > 0))
    return { manifest: { generation, archivedMs, ...rest, packs, buckets: stored }, streams }
  }
}

/** The stream of an earlier checkpoint that `stream` is; undefined if there is none. */
function sameStream(earlier: ReadonlyMap<string, ArchivedStream>, { name, created }: StoredStream) {
  const found = earlier.get(name)
  return found?.stream.created === created ? found : undefined
}

/** The streams of the earlier checkpoint that are among `found`. */
function* sameStreams(
  earlier: ReadonlyMap<string, ArchivedStream>,
  found: readonly StoredStream[],
): Generator<ArchivedStream | undefined, void, undefined> {
  for (const stream of found) yield sameStream(earlier, stream)
}

function slicesOf(archived: ArchivedStream | undefined): Slice[] {
  return archived?.files.flatMap(({ index, records }) => [...index, ...records]) ?? []
}

/** Counts the bytes of each pack that `streams` and `buckets` use. */
async function liveBytes(
  packs: ReadonlyMap<string, PackFacts>,
  streams: Iterable<ArchivedStream | undefined>,
  buckets: CheckpointManifest['buckets'],
  turn: TimeSlice,
): Promise<Map<string, PackFacts>> {
  const counted = new Map([...packs].map(([name, facts]) => [name, { ...facts, live: 0 }]))
  const count = ({ pack, length }: Slice): void => {
    const facts = counted.get(pack)
    if (facts !== undefined) facts.live += length
  }
  for (const stream of streams) {
    if (turn.isOver()) await turn.nextTurn()
    for (const slice of slicesOf(stream)) count(slice)
  }
  for (const { slice } of buckets) count(slice)
  return counted
}

/**
 * The packs whose live bytes are stored again, so that the others are freed: those of which less than half is live,
 * those that have held bytes of no use for `historyMs`, and many small ones.
 */
function packsToReplace(
  packs: ReadonlyMap<string, PackFacts>,
  { now, historyMs }: { now: number; historyMs: number },
): ReadonlySet<string> {
  const isWasteful = ({ bytes, live, madeMs }: PackFacts): boolean =>
    live < bytes && (2 * live < bytes || now - madeMs >= historyMs)
  const small = [...packs].filter(([, { bytes }]) => bytes < SMALL_BYTES)
  const names = [...packs].filter(([, facts]) => isWasteful(facts)).map(([name]) => name)
  return new Set(small.length > SMALL_PACKS ? [...names, ...small.map(([name]) => name)] : names)
}

async function copyStream(
  writer: PackWriter,
  dir: string,
  stream: StoredStream,
  earlier: ArchivedStream | undefined,
  replaced: ReadonlySet<string>,
): Promise<{ files: ArchivedFile[]; isRight: boolean }> {
  if (
    earlier !== undefined &&
    JSON.stringify([earlier.stream.disk, earlier.stream.older]) === JSON.stringify([stream.disk, stream.older]) &&
    !slicesOf(earlier).some(({ pack }) => replaced.has(pack))
  )
    return { files: earlier.files, isRight: true }
  const before = earlier === undefined ? [] : contentsOf(dir, earlier.stream)
  // By the path, because a stream with retention may have thousands of files.
  const earlierFiles = new Map(before.map(({ records }, at) => [records.path, earlier?.files[at]]))
  const files: ArchivedFile[] = []
  let isRight = true
  for (const contents of contentsOf(dir, stream)) {
    const copy = await copyFile(writer, contents, earlierFiles.get(contents.records.path), replaced)
    files.push(copy.file)
    isRight &&= copy.isRight
  }
  return { files, isRight }
}

/** Copies what `earlier` does not have. If it is not the beginning of the file any more, copies everything. */
async function copyFile(
  writer: PackWriter,
  contents: { index: FileContent; records: FileContent },
  earlier: ArchivedFile | undefined,
  replaced: ReadonlySet<string>,
): Promise<{ file: ArchivedFile; isRight: boolean }> {
  const index = await copyContent(writer, contents.index, earlier?.index ?? [], replaced)
  const records = await copyContent(writer, contents.records, earlier?.records ?? [], replaced)
  const isRight = index.isRight && records.isRight
  if (!isRight && earlier !== undefined) return copyFile(writer, contents, undefined, replaced)
  return { file: { index: index.slices, records: records.slices }, isRight }
}

async function copyContent(
  writer: PackWriter,
  { path, bytes, crc: expected }: FileContent,
  earlier: readonly Slice[],
  replaced: ReadonlySet<string>,
): Promise<{ slices: Slice[]; isRight: boolean }> {
  const slices: Slice[] = []
  let [at, crc] = [0, 0]
  const copyTo = async (to: number): Promise<boolean> => {
    for await (const part of readContent(path, { from: at, to, crc })) {
      await writer.add(part.bytes, part.crc, slices)
      at += part.bytes.length
      crc = part.crc
    }
    return at === to
  }
  for (const slice of earlier) {
    const end = at + slice.length
    if (!replaced.has(slice.pack)) {
      slices.push(slice)
      at = end
      crc = slice.crc
    } else if (!(await copyTo(end)) || crc !== slice.crc) return { slices, isRight: false }
  }
  const isWhole = at <= bytes && (await copyTo(bytes))
  return { slices, isRight: isWhole && (expected === undefined || crc === expected) }
}

/** Stores the texts of the streams. Those that have not changed keep their slices. */
async function storeBuckets(
  writer: PackWriter,
  streams: ReadonlyMap<string, ArchivedStream>,
  {
    earlier,
    replaced,
    turn,
  }: { earlier: CheckpointManifest['buckets']; replaced: ReadonlySet<string>; turn: TimeSlice },
): Promise<CheckpointManifest['buckets']> {
  // A power of two, so that the number of buckets rarely changes.
  const count = 2 ** Math.ceil(Math.log2(Math.max(1, streams.size / STREAMS_IN_BUCKET)))
  const members = Array.from({ length: count }, (): ArchivedStream[] => [])
  for (const [name, one] of streams) {
    if (turn.isOver()) await turn.nextTurn()
    members[bucketOf(name, count)]?.push(one)
  }
  const texts: { sha256: string; slices: Slice[] }[] = []
  for (const [at, some] of members.entries()) {
    // The order of the catalog's records changes when it is trimmed.
    some.sort((a, b) => a.stream.created - b.stream.created)
    const text = Buffer.from(bucketText(some))
    const sha256 = await sha256Of(text)
    const before = earlier.length === count ? earlier[at] : undefined
    const slices: Slice[] = []
    if (before?.sha256 === sha256 && !replaced.has(before.slice.pack)) slices.push(before.slice)
    else await writer.add(text, 0, slices)
    texts.push({ sha256, slices })
  }
  await writer.flush()
  return texts.map(({ sha256, slices }) => ({ sha256, slice: slices[0] as Slice }))
}
