/** Creates the items that a Sequencer stores. */
import { DurlogError } from '../errors.js'
import type { Group } from './access.js'
import { codecOf, EncodedValue, type StreamCodec } from './encoding.js'
import { EMPTY, EntryKind } from './entry.js'
import type { AppendConditions } from './options.js'
import type { Item } from './sequencer.js'
import type { ReadContext } from './stream-reader.js'
import type { StreamAppendResult, StreamEncoding } from './types.js'

/** The maximum length of a record, in bytes. */
export const RECORD_MAX_BYTES: number = 8 << 20

export interface StreamContext extends ReadContext {
  append(item: Item): Promise<StreamAppendResult>
  /** Stores all of `items` or nothing. */
  submit(items: readonly Item[]): Promise<StreamAppendResult[]>
  /** Deletes the stream if it has expired. The deletion is stored before the next submitted change. */
  removeExpired(name: string): void
}

/** The item of an append, whose value is encoded when the item is decided. */
export function appendItem(
  { encoding }: ReadContext,
  stream: string,
  value: unknown,
  { expectedSeq, producer, writerSeq, mustExist, timestamp }: AppendConditions,
): Item {
  const item = bareItem(EntryKind.append, stream)
  item.draft = { value, encoding }
  item.expectedSeq = expectedSeq
  item.producer = producer
  item.writerSeq = writerSeq
  item.mustExist = mustExist
  item.timestamp = timestamp
  return item
}

/** Encodes a value for a stream. Throws ERR_DURLOG_INVALID_ARGUMENT or ERR_DURLOG_RECORD_TOO_LARGE. */
export function encode(codec: StreamCodec, value: unknown): Buffer | string {
  const encoded = codec.encode(value)
  // A UTF-16 code unit has at most 3 bytes in UTF-8.
  if (3 * encoded.length > RECORD_MAX_BYTES && Buffer.byteLength(encoded) > RECORD_MAX_BYTES)
    throw new DurlogError(
      'ERR_DURLOG_RECORD_TOO_LARGE',
      `a record must have at most ${RECORD_MAX_BYTES} bytes; got ${Buffer.byteLength(encoded)}: split it`,
    )
  return encoded
}

/** Encodes a value for any stream. Throws like `encode`. */
export function encodeForAny(value: unknown): EncodedValue<Buffer | string> {
  const encoding = typeof value === 'string' ? 'text' : value instanceof Uint8Array ? 'bytes' : 'json'
  return new EncodedValue(encoding, encode(codecOf(encoding), value))
}

/** Copies the value of the item, which its caller may change. Returns its number of bytes. Throws like `encode`. */
export function hold({ value, draft }: Item): number {
  if (draft === undefined) return value.length
  if ('creation' in draft) return 0
  if (!(draft.value instanceof EncodedValue)) draft.value = encodeForAny(draft.value)
  return (draft.value as EncodedValue<Buffer | string>).data.length
}

/** An item without a value or conditions. */
export function bareItem(kind: EntryKind, stream: string): Item {
  return {
    kind,
    stream,
    expectedSeq: undefined,
    producer: undefined,
    writerSeq: undefined,
    encoding: 'json',
    meta: undefined,
    mustExist: false,
    created: undefined,
    follows: false,
    value: EMPTY,
    draft: undefined,
    timestamp: undefined,
  }
}

/** A later item of the group that begins with `first`. */
export function following(kind: EntryKind, { stream, timestamp }: Item, value: Buffer | string = EMPTY): Item {
  const item = bareItem(kind, stream)
  item.follows = true
  item.value = value
  item.timestamp = timestamp
  return item
}

/** Like `following`, of an append whose value is encoded when the item is decided. */
export function followingAppend(first: Item, value: unknown): Item {
  const item = following(EntryKind.append, first)
  item.draft = { value, encoding: first.encoding }
  return item
}

/**
 * The items of an append to an existing stream. With `created`, the stream must be the one that the entry at this
 * position created.
 */
export function groupItems(
  stream: string,
  encoding: StreamEncoding,
  { values, end, producer, writerSeq }: Group,
  created?: number | undefined,
): Item[] {
  const first = bareItem(values.length > 0 ? EntryKind.append : EntryKind.end, stream)
  first.producer = producer
  first.created = created
  first.writerSeq = writerSeq
  if (values.length === 0) return [first]
  first.encoding = encoding
  first.mustExist = true
  first.value = values[0] as Buffer | string
  const items = [first]
  for (let at = 1; at < values.length; at++) items.push(following(EntryKind.append, first, values[at]))
  if (end) items.push(following(EntryKind.end, first))
  return items
}
