// The values of the kill trial of streams, by their numbers: the child appends them, and the parent compares them.
import { randomFrom } from '../crash/payload.mjs'

/** Streams with retention, which are never deleted. */
export const RETAINED = {
  'kept/records': { maxRecords: 50 },
  'kept/bytes': { maxBytes: 65_536 },
  'kept/age': { maxAgeMs: 1000 },
}

/** Most are short, some about as long as a page, a few as long as the output of an agent's tool. */
function fillerBytes(random) {
  const kind = random()
  if (kind < 0.75) return Math.floor(random() * 300)
  if (kind < 0.97) return 3500 + Math.floor(random() * 900)
  return Math.floor(random() * 300_000)
}

/** The value of append number `n`; of a batch, with its first number and its length. */
export function trialValue(n, batch) {
  const random = randomFrom(n)
  const filler = String.fromCharCode(97 + (n % 26)).repeat(fillerBytes(random))
  return batch === undefined ? { n, filler } : { n, batch, filler }
}

/** The value of a producer's append. */
export function ledgerValue(q) {
  return { q, filler: '.'.repeat(q % 700) }
}
