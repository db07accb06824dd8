/** Reads pieces in order, with several range requests in flight. */
import { attempts } from '../ship/backoff.js'
import { AlignedMemory } from '../support/aligned-memory.js'
import { clock } from '../timers.js'
import { type Bucket, ERROR_BYTES, type StoredObject } from './bucket.js'
import { decompressed, type StoredRange } from './decompressed.js'
import type { PieceEntry } from './manifest.js'
import { factsOf, type PieceFacts } from './piece.js'
import { StoreFailure } from './store-errors.js'

const RANGE_BYTES = 8 * 2 ** 20
/** The number of ranges that are requested in advance. Each is in memory until the caller has used it. */
const IN_FLIGHT = 8
const ATTEMPTS = 5
/** A range is not requested again after this time: the caller then counts the failure. */
const REPEAT_MS = 5000

interface RangeRequest {
  entry: PieceEntry
  offset: number
  length: number
}

function* requestsFor(entries: readonly PieceEntry[]): Generator<RangeRequest> {
  for (const entry of entries) {
    for (let offset = 0; offset < entry.bytes; offset += RANGE_BYTES) {
      yield { entry, offset, length: Math.min(RANGE_BYTES, entry.bytes - offset) }
    }
  }
}

/**
 * Memory for the ranges, which is used again, because the garbage collector would work as long as the requests. A
 * response that reports an error is read into it too.
 */
function memoryFor(entries: readonly PieceEntry[]): Buffer[] {
  const ranges = entries.reduce((sum, { bytes }) => sum + Math.ceil(bytes / RANGE_BYTES), 0)
  const count = Math.min(ranges, IN_FLIGHT + 1)
  const longest = entries.reduce((most, { bytes }) => Math.max(most, bytes), ERROR_BYTES)
  const length = Math.min(longest, RANGE_BYTES)
  // A restore that follows reads a few short objects at a time, for which alignment saves nothing.
  const aligned = length === RANGE_BYTES ? new AlignedMemory().take(count * length) : undefined
  const memory = aligned ?? Buffer.allocUnsafeSlow(count * length)
  return Array.from({ length: count }, (_, at) => memory.subarray(at * length, (at + 1) * length))
}

/**
 * Reads a range, up to ATTEMPTS times: a large object has many ranges, and would never be read if one failure of a
 * request repeated all of them.
 */
export async function readRange(
  bucket: Bucket,
  { entry, offset, length }: Omit<RangeRequest, 'entry'> & { entry: Pick<PieceEntry, 'key'> },
  into: Buffer,
  signal: AbortSignal | undefined,
  retryForMs: number,
): Promise<StoredObject | undefined> {
  const until = clock.now() + REPEAT_MS
  const isTransient = (error: unknown): boolean => error instanceof StoreFailure && clock.now() <= until
  return await attempts(ATTEMPTS, () => bucket.get(entry.key, { offset, length, into, signal }), {
    isTransient,
    retryForMs,
    signal,
  })
}

/** Yields the ranges of `entries` in order. The body of a range is valid until the next one is requested. */
async function* readRanges(
  bucket: Bucket,
  entries: readonly PieceEntry[],
  retryForMs: number,
): AsyncGenerator<StoredRange> {
  const waiting: { request: RangeRequest; into: Buffer; answer: Promise<StoredObject | undefined> }[] = []
  const free = memoryFor(entries)
  const requests = requestsFor(entries)
  const ending = new AbortController()
  const fill = (): void => {
    while (waiting.length < IN_FLIGHT) {
      const next = requests.next()
      if (next.done === true) return
      const into = free.pop() as Buffer
      const answer = readRange(bucket, next.value, into, ending.signal, retryForMs)
      // Awaited later: a rejection before that must not count as unhandled.
      answer.catch(() => {})
      waiting.push({ request: next.value, into, answer })
    }
  }
  let facts: PieceFacts | undefined
  try {
    fill()
    for (let first = waiting.shift(); first !== undefined; first = waiting.shift()) {
      fill()
      const { entry, offset, length } = first.request
      const object = await first.answer
      if (object === undefined) throw new StoreFailure(`${entry.key} was deleted: the archive has changed`)
      if (facts === undefined || offset === 0) facts = factsOf(bucket.urlOf(entry.key), entry, object.metadata)
      yield { entry, facts, offset, body: object.body, isLast: offset + length === entry.bytes, bytes: length }
      free.push(first.into)
    }
  } finally {
    // Ends the other requests after a failure: each of them holds a connection and memory.
    ending.abort()
  }
}

/**
 * Yields the pieces of `entries` in order, in ranges; compressed ones are decompressed. The body of a range is valid
 * until the next range is requested; it is page-aligned if the runtime can provide such memory and the piece is not
 * compressed. Throws StoreFailure if an object was deleted after it was listed, ERR_DURLOG_CORRUPT if a piece cannot be
 * decompressed, and ERR_DURLOG_DESTINATION_UNREACHABLE if every request of a range has failed for longer than
 * `retryForMs`.
 */
export async function* readPieces(
  bucket: Bucket,
  entries: readonly PieceEntry[],
  retryForMs: number,
): AsyncGenerator<StoredRange> {
  const ranges = readRanges(bucket, entries, retryForMs)
  for await (const range of ranges) {
    if (range.facts.isCompressed) yield* decompressed(bucket.urlOf(range.entry.key), range, ranges)
    else yield range
  }
}

export interface WholePiece {
  entry: PieceEntry
  facts: PieceFacts
  /** Valid until the next piece is requested. */
  piece: Buffer
}

/** As `readPieces`, but yields each piece as a whole: one piece is in memory, and the ranges that are read ahead. */
export async function* readWholePieces(
  bucket: Bucket,
  entries: readonly PieceEntry[],
  retryForMs: number,
): AsyncGenerator<WholePiece> {
  let piece: Buffer = Buffer.alloc(0)
  for await (const { entry, facts, offset, body, isLast } of readPieces(bucket, entries, retryForMs)) {
    if (offset === 0) piece = isLast ? body : Buffer.allocUnsafeSlow(facts.bytes)
    if (piece !== body) body.copy(piece, offset)
    if (isLast) yield { entry, facts, piece }
  }
}
