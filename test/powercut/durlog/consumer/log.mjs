// Settings that the lives of the consumers' log share with the verifier.

/** The cursors, and the levels at which each commits. */
export const COMMIT_LEVELS = { careful: ['sync', 'full'], quick: ['memory'], both: ['memory', 'memory', 'sync'] }
export const CURSORS = Object.keys(COMMIT_LEVELS)
export const SHIP_CURSOR = 'ship'

/** Every record is old enough to be removed as soon as it is appended. */
export const RETENTION = { maxAgeMs: 1000, keepFor: 'cursors' }
export const timeOf = (seq) => 1_700_000_000_000 + seq
