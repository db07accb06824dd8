/** The changes that a Sequencer stores. */

import { EncodedValue, PackedValues } from '../port/encoding.js'
import type { CreationRequest, Group, SentValue } from '../port/port.js'
import type { StreamAppendResult } from '../port/types.js'
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
    follows: false,
    value: EMPTY,
    draft: undefined,
    rest: undefined,
    timestamp: undefined,
  }
}

/** A later item of the batch that begins with `first`. With a value, it is an append. */
export function following({ stream, timestamp }: Item, draft?: EncodedValue<Buffer | string>): Item {
  const item = bareItem(draft === undefined ? EntryKind.end : EntryKind.append, stream)
  item.follows = true
  item.draft = draft
  item.timestamp = timestamp
  return item
}

/** The items of a group. */
export function groupItems({ stream, created, values, conditions }: Group): Item[] {
  const { end } = conditions
  const first = bareItem(values.length > 0 ? EntryKind.append : EntryKind.end, stream)
  first.expectedSeq = conditions.expectedSeq
  first.producer = conditions.producer
  first.writerSeq = conditions.writerSeq
  first.mustExist = conditions.mustExist
  first.created = created
  first.timestamp = conditions.timestamp
  if (values instanceof PackedValues) {
    first.draft = values.at(0)
    first.rest = { values, end }
    return [first]
  }
  first.draft = values[0]
  const items = [first]
  for (let at = 1; at < values.length; at++) items.push(following(first, values[at]))
  if (end && values.length > 0) items.push(following(first))
  return items
}

export function firstResult([result]: readonly StreamAppendResult[]): StreamAppendResult {
  return result as StreamAppendResult
}
