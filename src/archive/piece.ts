/**
 * A piece: a segment's header and a range of its frames, which together form a valid segment. Every object in the
 * folders of a history is a piece.
 */
import { webcrypto } from 'node:crypto'
import { DurlogError, isCode } from '../errors.js'
import { shown } from '../options/checks.js'
import { SEGMENT_BYTES_RANGE } from '../options/open-options.js'
import { ENCODING_NUMBERS } from '../streams/port/encoding.js'
import type { StreamEncoding } from '../streams/port/types.js'
import { StoredFields } from './stored-fields.js'
import type { ArchivedPoint } from './types.js'
import { loadZstd } from './zstd.js'

/** The length of a segment's header. */
export const HEADER_BYTES = 4096

/** The metadata of an object. */
export type Metadata = Readonly<Record<string, string>>

/** Whether an object in a folder of parts is a fence, not a part: see fence.ts. */
export function isFence({ bytes }: { bytes: number }): boolean {
  return bytes < HEADER_BYTES
}

/** The longest object with a piece: zstd may add 3 bytes for each 128 KiB, and a header. */
export const MAX_OBJECT_BYTES: number = SEGMENT_BYTES_RANGE.max + 2 ** 20
/** The two copies of the slot in a header: docs/FORMAT.md. */
const SLOTS = [1024, 3072]
const SLOT_BYTES = 12
/** The offset of the segment's length in its header. Its upper four bytes are 0. */
const SEGMENT_BYTES_AT = 48

/** Erases the slot in a segment's header. The slot changes, and may be about records that are not in the piece. */
export function eraseSlot(header: Buffer): void {
  for (const at of SLOTS) header.fill(0, at, at + SLOT_BYTES)
}

/** The length of the segment's file, header included, that the writer must not exceed. */
export function segmentBytesIn(header: Buffer): number {
  return header.readUInt32LE(SEGMENT_BYTES_AT)
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
  streams: StreamEncoding | undefined
}

const VERSION = '1'
const ENCODINGS = Object.keys(ENCODING_NUMBERS) as StreamEncoding[]

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
 * Reads the facts of the piece in an object of `bytes` bytes from the object's metadata. Throws
 * ERR_DURLOG_DESTINATION_OTHER if durlog did not store the object, ERR_DURLOG_VERSION if a newer durlog did, and
 * ERR_DURLOG_CORRUPT if a value is not possible.
 */
export function factsOf(
  url: string,
  { firstSeq, bytes: size }: { firstSeq: number; bytes: number },
  metadata: Metadata,
): PieceFacts {
  const { version } = metadata
  if (version === undefined)
    throw new DurlogError('ERR_DURLOG_DESTINATION_OTHER', `${url} was not stored by durlog: use another prefix`)
  if (version !== VERSION)
    throw new DurlogError(
      'ERR_DURLOG_VERSION',
      `${url} has version ${shown(version)}; this durlog reads ${VERSION}: update it`,
    )
  const fields = new StoredFields(url, metadata)
  const isCompressed = fields.has('zstd')
  const bytes = isCompressed ? fields.whole('zstd') : size
  if (bytes < HEADER_BYTES || bytes > SEGMENT_BYTES_RANGE.max) throw damaged(url)
  const lastSeq = fields.whole('last', { min: firstSeq })
  return {
    firstSeq,
    lastSeq,
    records: fields.whole('records', { max: lastSeq + 1 - firstSeq }),
    bytes,
    oldestMs: fields.whole('oldest'),
    newestMs: fields.whole('newest'),
    generation: fields.whole('generation'),
    sha256: fields.sha256('sha256'),
    previous: fields.has('previous') ? fields.sha256('previous') : '',
    isCompressed,
    streams: fields.has('streams') ? fields.choice('streams', ENCODINGS) : undefined,
  }
}

/** Returns the piece that is `body`, or is compressed in it. Throws ERR_DURLOG_CORRUPT if it cannot be decompressed. */
export async function pieceIn(url: string, facts: PieceFacts, body: Buffer): Promise<Buffer> {
  const { isCompressed, bytes } = facts
  if (!isCompressed) return body
  const { decompress } = await loadZstd()
  const piece = await decompress(body, bytes).catch((cause: unknown) => {
    throw isCode(cause, 'ERR_DURLOG_UNSUPPORTED') ? cause : damaged(url, facts, cause)
  })
  if (piece.length !== bytes) throw damaged(url, facts)
  return Buffer.from(piece.buffer, piece.byteOffset, piece.length)
}

/**
 * The error for an object of the archive; with `piece`, for the records of that piece. None of them is delivered: an
 * object with another checksum may hold other records, which are whole.
 */
export function damaged(url: string, piece?: Pick<PieceFacts, 'firstSeq' | 'lastSeq'>, cause?: unknown): DurlogError {
  const lost = piece && { lostFirst: piece.firstSeq, lostLast: piece.lastSeq }
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `${url} is damaged: its checksum, or the checksum of the previous object, differs${lost ? `; the records ${lost.lostFirst} to ${lost.lostLast} cannot be read from it` : ''}`,
    { path: url, ...lost, cause },
  )
}

/** Computes the SHA-256 of `body` in a worker thread, so that the caller's thread is not blocked. */
export async function sha256Of(body: Uint8Array): Promise<string> {
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>)).toString('hex')
}

/**
 * Returns the offset of the frame of `seq` in a piece that begins with seq `first`. If the frames end before `seq`,
 * returns the offset of their end. Undefined if `seq` is inside a void. Does not verify the frames.
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
