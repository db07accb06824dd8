/** The changes that a Sequencer stores. */

import { countOf, EncodedValue, PackedValues, packedOf, type SentValue } from '../port/encoding.js'
import type { CreationRequest, Group } from '../port/port.js'
import type { ProposedChange } from '../state/decide.js'
import { EMPTY, EntryKind, type ValuedChange } from '../state/entry.js'

/** A change of a stream that a caller requests. */
export interface Item extends ProposedChange, ValuedChange {
  /**
   * The value of an append, or the options of a creation, with which each decision completes the item; undefined if it
   * is complete already. The encoding of the stream, and the options that a fork inherits, depend on the streams as the
   * earlier calls leave them, and these calls may still be waiting when the item is made. A call that must wait is
   * decided again, and meanwhile a failed write may have removed what the first decision has found.
   */
  draft?: SentValue | CreationRequest | undefined
  /**
   * The item is the first one of a group whose later items append these values and, if `end` is set, end the stream.
   */
  rest?: GroupRest | undefined
  /** The record's time, if it is not the current one. */
  timestamp?: number | undefined
}

/** The later items of a group. If the first one is an append, it has the first of the values. */
export interface GroupRest {
  readonly values: PackedValues
  readonly end: boolean
}

/** The number of bytes of the value, or of the values of the group. */
export function valueBytes({ draft, rest }: Item): number {
  if (rest !== undefined) return rest.values.bytes.length
  return draft instanceof EncodedValue ? draft.data.length : 0
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
    source: undefined,
    follows: false,
    value: EMPTY,
    draft: undefined,
    rest: undefined,
    timestamp: undefined,
  }
}

/** A later item of the group that begins with `first`. */
export function following(kind: EntryKind, { stream, timestamp, encoding }: Item): Item {
  const item = bareItem(kind, stream)
  item.follows = true
  item.encoding = encoding
  item.timestamp = timestamp
  return item
}

/** The item of a group. */
export function groupItem({ stream, created, values, conditions }: Group): Item {
  const isEnd = countOf(values) === 0
  const item = bareItem(isEnd ? EntryKind.end : EntryKind.append, stream)
  item.expectedSeq = conditions.expectedSeq
  item.producer = conditions.producer
  item.writerSeq = conditions.writerSeq
  item.mustExist = conditions.mustExist
  item.created = created
  item.timestamp = conditions.timestamp
  if (isEnd) return item
  item.draft = values instanceof PackedValues ? values.at(0) : values
  if (values instanceof PackedValues || conditions.end) item.rest = { values: packedOf(values), end: conditions.end }
  return item
}
