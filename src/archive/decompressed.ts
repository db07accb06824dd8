/** Decompresses the ranges of an object, so that a restore does not hold a whole segment in memory. */
import type { Transform } from 'node:stream'
import { DurlogError } from '../errors.js'
import type { PieceEntry } from './manifest.js'
import { damaged, type PieceFacts, pieceIn } from './piece.js'
import { StoreFailure } from './store-errors.js'
import { loadZstd } from './zstd.js'

export interface StoredRange {
  entry: PieceEntry
  /** Those that the first range of the object came with: no other answer of the store decides about the piece. */
  facts: PieceFacts
  offset: number
  body: Buffer
  isLast: boolean
  /** The length of the objects' bytes that were read for this range. */
  bytes: number
}

/**
 * Yields the piece that is compressed in the object at `url`: `first` is its first range, and `ranges` are the next
 * ones. Throws ERR_DURLOG_CORRUPT if it cannot be decompressed.
 */
export async function* decompressed(
  url: string,
  first: StoredRange,
  ranges: AsyncIterator<StoredRange>,
): AsyncGenerator<StoredRange> {
  const { entry, facts } = first
  const { streams } = await loadZstd()
  if (streams === undefined) {
    const body = Buffer.allocUnsafeSlow(entry.bytes)
    for await (const range of rangesOf(first, ranges)) range.body.copy(body, range.offset)
    const piece = await pieceIn(url, facts, body)
    return yield { entry, facts, offset: 0, body: piece, isLast: true, bytes: entry.bytes }
  }
  const length = facts.bytes
  const transform = streams.decompress()
  void writeAll(transform, rangesOf(first, ranges))
  let before: Buffer | undefined
  let offset = 0
  const toRange = (body: Buffer, isLast: boolean): StoredRange => {
    const range = { entry, facts, offset, body, isLast, bytes: isLast ? entry.bytes : 0 }
    offset += body.length
    return range
  }
  try {
    for await (const chunk of transform as AsyncIterable<Buffer>) {
      if (before !== undefined) yield toRange(before, false)
      before = chunk
      if (offset + chunk.length > length) break
    }
  } catch (cause) {
    throw cause instanceof StoreFailure || cause instanceof DurlogError ? cause : damaged(url, facts, cause)
  }
  if (before === undefined || offset + before.length !== length) throw damaged(url, facts)
  yield toRange(before, true)
}

async function* rangesOf(first: StoredRange, ranges: AsyncIterator<StoredRange>): AsyncGenerator<StoredRange> {
  for (let range = first; ; range = (await ranges.next()).value as StoredRange) {
    yield range
    if (range.isLast) return
  }
}

/** Writes the ranges to `transform`, and ends it; destroys it after an error. */
async function writeAll(transform: Transform, ranges: AsyncIterable<StoredRange>): Promise<void> {
  try {
    for await (const { body } of ranges) {
      // The next range may use the memory of this one.
      await new Promise<void>((resolve, reject) => {
        transform.write(body, (error) => (error ? reject(error) : resolve()))
      })
    }
    transform.end()
  } catch (error) {
    transform.destroy(error as Error)
  }
}
