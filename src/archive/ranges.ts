/** Reads objects one after the other, with several range requests in flight. */
import type { Bucket, StoredObject } from './bucket.js'
import type { PieceEntry } from './manifest.js'

const RANGE_BYTES = 8 * 2 ** 20
/** The ranges that are requested in advance; each is in memory until it is used. */
const IN_FLIGHT = 8

export interface PieceRange {
  entry: PieceEntry
  offset: number
  /** Undefined if the object was deleted since it was listed. */
  object: StoredObject | undefined
  isLast: boolean
}

interface Request {
  entry: PieceEntry
  offset: number
  length: number
}

function* requestsFor(entries: readonly PieceEntry[]): Generator<Request> {
  for (const entry of entries) {
    for (let offset = 0; offset < entry.bytes; offset += RANGE_BYTES) {
      yield { entry, offset, length: Math.min(RANGE_BYTES, entry.bytes - offset) }
    }
  }
}

/** The ranges of `entries` in order. */
export async function* readRanges(bucket: Bucket, entries: readonly PieceEntry[]): AsyncGenerator<PieceRange> {
  const waiting: { request: Request; answer: Promise<StoredObject | undefined> }[] = []
  const requests = requestsFor(entries)
  const fill = (): void => {
    while (waiting.length < IN_FLIGHT) {
      const next = requests.next()
      if (next.done === true) return
      const { entry, offset, length } = next.value
      const answer = bucket.get(entry.key, { offset, length })
      // It is awaited later; a failure before that is not unhandled.
      answer.catch(() => {})
      waiting.push({ request: next.value, answer })
    }
  }
  fill()
  for (let first = waiting.shift(); first !== undefined; first = waiting.shift()) {
    fill()
    const { entry, offset, length } = first.request
    yield { entry, offset, object: await first.answer, isLast: offset + length === entry.bytes }
  }
}
