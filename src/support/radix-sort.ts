/** A sort that pauses for the event loop; a call of `sort` would block it. */
import type { TimeSlice } from './time-slice.js'

/** The base of the radix sort. */
const DIGITS = 2048

/** Returns `items` in the order of their `keys`, which are whole numbers. */
export async function sortedBy<Item>(
  items: readonly Item[],
  keys: readonly number[],
  slice: TimeSlice,
): Promise<Item[]> {
  const sorted: Item[] = []
  for (const index of await ascending(keys, slice)) {
    if (slice.isOver()) await slice.nextTurn()
    sorted.push(items[index] as Item)
  }
  return sorted
}

/** Returns the indexes of `keys` in the order of the keys. */
async function ascending(keys: readonly number[], slice: TimeSlice): Promise<Uint32Array> {
  let from = new Uint32Array(keys.length)
  let to = new Uint32Array(keys.length)
  for (let at = 0; at < keys.length; at++) from[at] = at
  let more = true
  for (let unit = 1; more; unit *= DIGITS) {
    const digitOf = (index: number): number => Math.floor((keys[index] as number) / unit) % DIGITS
    const ends = new Uint32Array(DIGITS)
    more = false
    for (const index of from) {
      if (slice.isOver()) await slice.nextTurn()
      ;(ends[digitOf(index)] as number)++
      more ||= (keys[index] as number) >= unit * DIGITS
    }
    for (let digit = 1; digit < DIGITS; digit++) (ends[digit] as number) += ends[digit - 1] as number
    for (let at = from.length - 1; at >= 0; at--) {
      if (slice.isOver()) await slice.nextTurn()
      const index = from[at] as number
      to[--(ends[digitOf(index)] as number)] = index
    }
    ;[from, to] = [to, from]
  }
  return from
}
