// The values of the kill trial of streams, computed from their append numbers: the child appends them, and the parent
// compares them.
import { randomFrom } from '../crash/payload.mjs'

/** Streams with retention, which the trial never deletes. */
export const RETAINED = {
  'kept/records': { maxRecords: 50 },
  'kept/bytes': { maxBytes: 65_536 },
  'kept/age': { maxAgeMs: 1000 },
}

/**
 * The length of the filler. Most are short, some are about as long as a page, and a few as long as the output of an
 * agent's tool.
 */
function fillerBytes(random) {
  const kind = random()
  if (kind < 0.75) return Math.floor(random() * 300)
  if (kind < 0.97) return 3500 + Math.floor(random() * 900)
  return Math.floor(random() * 300_000)
}

/** The value of append number `n`. In a batch, it contains `batch`: the first number and the length of the batch. */
export function trialValue(n, batch) {
  const random = randomFrom(n)
  const filler = String.fromCharCode(97 + (n % 26)).repeat(fillerBytes(random))
  return batch === undefined ? { n, filler } : { n, batch, filler }
}

/** The value of append `q` of a producer. */
export function ledgerValue(q) {
  return { q, filler: '.'.repeat(q % 700) }
}
