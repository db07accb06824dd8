/**
 * Completes items when they are decided. The encoding of a value and the options of a fork depend on the streams as the
 * earlier calls leave them, and these calls may still be waiting when the item is made.
 */
import type { Item } from './call.js'
import { type CreationRequest, withInherited } from './creation.js'
import { codecOf, EncodedValue } from './encoding.js'
import { encode, encodeForAny } from './items.js'
import type { StreamTable } from './table.js'

/** The value of an append, not encoded, or the options of a creation. */
export type Draft = { value: unknown } | { creation: CreationRequest }

/** Copies the value of the item, which its caller may change. Throws like `encode`. */
export function hold({ draft }: Item): void {
  if (draft === undefined || 'creation' in draft || draft.value instanceof EncodedValue) return
  draft.value = encodeForAny(draft.value)
}

/** Completes an item, which follows `previous` in its batch. Throws like `encode`. */
export function complete(item: Item, table: StreamTable, previous?: Item): void {
  const { draft } = item
  if (draft === undefined && !item.follows) return
  const found = table.find(item.stream)
  // It is refused.
  if (found?.softDeleted === true) return
  if (item.follows) item.encoding = (previous as Item).encoding
  else if (found !== undefined) item.encoding = found.meta.encoding
  if (draft === undefined) return
  if ('creation' in draft) {
    item.meta = withInherited(table, item.stream, draft.creation)
    item.encoding = item.meta.encoding
    item.value = JSON.stringify(item.meta)
  } else item.value = encode(codecOf(item.encoding), draft.value)
  item.draft = undefined
}
