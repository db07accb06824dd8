import { DurlogError } from '../errors.js'

/** The error of a copy of a log after another copy has claimed `generation` at their destination. */
export function fencedError(generation: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_FENCED',
    `another copy of the log has taken over at its destination (generation ${generation}). Nothing is overwritten; write to that copy. Records of this copy that the destination does not have are in this log only: close it, and run "durlog rejoin" to keep them and to make it a replica of that copy`,
  )
}

/** The error of a takeover that finds the claim of another copy, which has replicated no record since. */
export function claimedError(generation: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_FENCED',
    `another copy of the log has taken over at its destination (generation ${generation}), so this folder stays a replica: write to that copy. If that copy is lost, take over with force: true (durlog promote --force)`,
  )
}
