// Random numbers from a seed, so that a workload, a verifier and a replay agree.

/** A generator of numbers from 0 to below 1 (mulberry32). */
export function seededRandom(...seeds) {
  let state = 0x9e3779b9
  for (const seed of seeds) state = Math.imul(state ^ (seed + 0x7f4a7c15), 0x85ebca6b) ^ (state >>> 13)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** A whole number from `min` to `max`. */
export function between(random, min, max) {
  return min + Math.floor(random() * (max - min + 1))
}

export function pick(random, list) {
  return list[Math.floor(random() * list.length)]
}
