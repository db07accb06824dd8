// The options of the log under trial: every strategy with every preallocation that it supports.
import { between, pick, seededRandom } from './random.mjs'

const KIB = 1024
const MIB = 1024 * KIB
const preallocations = ['auto', 'zero', 'none']
const mappable = preallocations.filter((name) => name !== 'none')

// Neighbours differ in both, so that a few consecutive seeds already try different combinations.
export const combinations = preallocations.flatMap((_, i) =>
  ['auto', 'mmap', 'pwrite', 'direct'].map((strategy, j) => {
    const allowed = strategy === 'mmap' ? mappable : preallocations
    return { strategy, preallocate: allowed[(i + 3 * j) % allowed.length] }
  }),
)

export function combinationOfSeed(seed) {
  return combinations[Number(seed) % combinations.length]
}

/** Whether a seed's log begins with a segment of 1 MiB, and each later one is twice as long. */
export function hasGrowingSegments(seed) {
  return Number(seed) % 5 === 0
}

/** Options for `open`. Each life of a workload uses different ones; the first uses the seed's combination. */
export function openOptions(seed, life) {
  const random = seededRandom(seed, life, 1)
  const keep = life === 0 || random() < 0.6
  const { strategy, preallocate } = keep ? combinationOfSeed(seed) : pick(random, combinations)
  const shortBytes = pick(random, [64, 64, 128, 256, 512, 1024]) * KIB + 4 * KIB * between(random, 0, 3)
  return {
    strategy,
    preallocate,
    segmentBytes: hasGrowingSegments(seed) ? 4 * MIB : shortBytes,
    maxPendingBytes: pick(random, [256, 1024, 32 * KIB]) * KIB,
    durability: pick(random, ['memory', 'sync']),
  }
}
