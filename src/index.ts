/** durlog: an append log with a durability level for each record. */
export { DurlogError, type DurlogErrorCode, type DurlogErrorDetails, type FailureOutcome } from './errors.js'
export {
  type Frame,
  frames,
  inspect,
  type LogSummary,
  type RepairOptions,
  type RepairReport,
  repair,
  type SegmentReport,
  type SegmentSummary,
  type VerifyReport,
  verify,
} from './inspect.js'
export { open } from './open.js'
export { trim } from './trim.js'
export type * from './types.js'
