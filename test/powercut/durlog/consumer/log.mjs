// What the lives of the consumers' log and the verifier agree on.

/** Cursors, and the levels that each commits at. */
export const COMMIT_LEVELS = { careful: ['sync', 'full'], quick: ['memory'], both: ['memory', 'memory', 'sync'] }
export const CURSORS = Object.keys(COMMIT_LEVELS)
export const SHIP_CURSOR = 'ship'

/** Every record is old enough to go as soon as it is there. */
export const RETENTION = { maxAgeMs: 1000, keepFor: 'cursors' }
export const timeOf = (seq) => 1_700_000_000_000 + seq
