// The payload of a record of the kill trial, by its place: the child appends it, and the parent compares it.

/** A small seeded generator of numbers in [0, 1). */
export function randomFrom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Most payloads are small, some are longer than a page, a few are longer than a mapped chunk. */
function fillerBytes(random, alone) {
  // A batch must fit into one segment.
  const kind = random() * (alone ? 1 : 0.9)
  if (kind < 0.8) return Math.floor(random() * 300)
  if (kind < 0.97) return Math.floor(random() * 5000)
  return Math.floor(random() * 40_000)
}

/**
 * The record with `seq`, appended in `generation` (how often the log was opened or cut before) as one of the batch
 * `first` to `last`, which are both `seq` for a single record.
 */
export function payloadOf(seq, generation, first, last) {
  const random = randomFrom(seq * 31 + generation * 1_000_003)
  const head = Buffer.from(`${seq} ${generation} ${first} ${last}|`)
  const filler = Buffer.alloc(fillerBytes(random, first === last), Math.floor(random() * 2 ** 32).toString(16))
  return Buffer.concat([head, filler])
}
