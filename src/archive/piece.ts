/**
 * A piece: a segment's header and a range of its frames, which together form a valid segment. Every object in the folders of a
 * history is a piece.
 */
import { webcrypto } from 'node:crypto'
import { DurlogError, isCode } from '../errors.js'
import { SEGMENT_BYTES_RANGE } from '../options/open-options.js'
import type { Metadata, StoredObject } from './bucket.js'
import type { ArchivedPoint } from './types.js'
import { loadZstd } from './zstd.js'

/** The length of a segment's header. */
export const HEADER_BYTES = 4096
/** The two copies of the slot in a header: docs/FORMAT.md. */
const SLOTS = [1024, 3072]
const SLOT_BYTES = 12

/** Erases the slot in a segment's header. The slot changes, and may be about records that are not in the piece. */
export function eraseSlot(header: Buffer): void {
  for (const at of SLOTS) header.fill(0, at, at + SLOT_BYTES)
}

export interface PieceFacts extends ArchivedPoint {
  /** Whether the body of the object is the piece compressed with zstd. */
  isCompressed: boolean
  /** The log's generation when the piece was stored. */
  generation: number
  /** The SHA-256 of the piece, in hexadecimal. */
  sha256: string
  /** The SHA-256 of the previous piece; '' for the first piece. */
  previous: string
  /** If the log is the main log of a folder of streams: the encoding of the streams. Otherwise undefined. */
  streams: string | undefined
}

const VERSION = '1'

export function toMetadata(facts: PieceFacts): Metadata {
  return {
    version: VERSION,
    last: String(facts.lastSeq),
    records: String(facts.records),
    oldest: String(facts.oldestMs),
    newest: String(facts.newestMs),
    generation: String(facts.generation),
    sha256: facts.sha256,
    ...(facts.previous !== '' && { previous: facts.previous }),
    ...(facts.isCompressed && { zstd: String(facts.bytes) }),
    ...(facts.streams !== undefined && { streams: facts.streams }),
  }
}

/**
 * Reads the facts of a piece from its metadata. Throws ERR_DURLOG_DESTINATION_OTHER if durlog did not store the object, and
 * ERR_DURLOG_VERSION if a newer durlog did.
 */
export function factsOf(url: string, firstSeq: number, { size, metadata }: StoredObject): PieceFacts {
  const { version, last, records, oldest, newest, generation, sha256, previous = '', zstd, streams } = metadata
  if (version !== undefined && version !== VERSION)
    throw new DurlogError(
      'ERR_DURLOG_VERSION',
      `${url} has version ${version}; this durlog reads ${VERSION}: update it`,
    )
  const numbers = [last, records, oldest, newest, generation, zstd ?? size].map(Number)
  if (version === undefined || sha256 === undefined || numbers.some((value) => !Number.isSafeInteger(value)))
    throw new DurlogError('ERR_DURLOG_DESTINATION_OTHER', `${url} was not stored by durlog: use another prefix`)
  const [lastSeq, recordCount, oldestMs, newestMs, cuts, bytes] = numbers as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  return {
    firstSeq,
    lastSeq,
    records: recordCount,
    bytes,
    oldestMs,
    newestMs,
    generation: cuts,
    sha256,
    previous,
    isCompressed: zstd !== undefined,
    streams,
  }
}

/** Returns the piece that is the body of `object`, or is compressed in it. Throws ERR_DURLOG_CORRUPT if it cannot be decompressed. */
export async function pieceIn(url: string, object: StoredObject): Promise<Buffer> {
  if (object.metadata['zstd'] === undefined) return object.body
  const length = lengthOf(url, object)
  const { decompress } = await loadZstd()
  const piece = await decompress(object.body, length).catch((cause: unknown) => {
    throw isCode(cause, 'ERR_DURLOG_UNSUPPORTED') ? cause : damaged(url, cause)
  })
  if (piece.length !== length) throw damaged(url)
  return Buffer.from(piece.buffer, piece.byteOffset, piece.length)
}

/** Returns the length of the piece that is compressed in an object. Throws ERR_DURLOG_CORRUPT if no segment has that length. */
export function lengthOf(url: string, { metadata: { zstd } }: StoredObject): number {
  const length = Number(zstd)
  if (length <= SEGMENT_BYTES_RANGE.max) return length
  throw damaged(url)
}

export function damaged(url: string, cause?: unknown): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `${url} is damaged: its checksum, or the checksum of the previous object, differs`,
    { path: url, cause },
  )
}

/** Computes the SHA-256 of `body` in a worker thread, so that the caller's thread is not blocked. */
export async function sha256Of(body: Uint8Array): Promise<string> {
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>)).toString('hex')
}

/**
 * Returns the offset of the frame of `seq` in a piece that begins with seq `first`. If the frames end before `seq`, returns the
 * offset of their end. Undefined if `seq` is inside a void. Does not verify the frames.
 */
export function offsetOfSeq(piece: Buffer, first: number, seq: number): number | undefined {
  let offset = HEADER_BYTES
  for (let next = first; next < seq && offset + 24 <= piece.length; ) {
    const word = piece.readUInt32LE(offset)
    if (word === 0) break
    const state = word >>> 29
    if (state === 2) next++
    else if (state === 5) next += piece.readUInt32LE(offset + 16)
    if (next > seq) return undefined
    offset += (24 + (word & 0xfffffff) + 7) & ~7
  }
  return offset
}
