import { DurlogError } from '../errors.js'

/** The error of a copy of a log after another copy has claimed `generation` at their destination. */
export function fencedError(generation: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_FENCED',
    `another copy of the log has taken over at its destination (generation ${generation}). Nothing is overwritten; write to that copy. Records of this copy that the destination does not have are in this log only: close it, and run "durlog rejoin" to keep them and to make it a replica of that copy`,
  )
}
