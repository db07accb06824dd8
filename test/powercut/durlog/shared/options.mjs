// The options of a log with several writers.
import { between, pick, seededRandom } from '../random.mjs'

const KIB = 1024
export const MAX_RECORD_BYTES = 40 * KIB

/** The segment options of the first member apply to all members. */
export function sharedOptions(seed, member) {
  const random = seededRandom(seed, member, 11)
  return {
    shared: true,
    strategy: pick(random, ['auto', 'mmap']),
    preallocate: pick(random, ['auto', 'zero']),
    segmentBytes: pick(random, [64, 64, 128, 256]) * KIB + 4 * KIB * between(random, 0, 3),
    maxPendingBytes: pick(random, [256, 1024, 32 * KIB]) * KIB,
    durability: pick(random, ['memory', 'sync']),
  }
}
