/** The package's only error class, and its codes. */
import { constants } from 'node:os'

export type DurlogErrorCode =
  | 'ERR_DURLOG_IO'
  | 'ERR_DURLOG_NO_SPACE'
  | 'ERR_DURLOG_TOO_MANY_FILES'
  | 'ERR_DURLOG_NOT_FOUND'
  | 'ERR_DURLOG_NOT_A_LOG'
  | 'ERR_DURLOG_NOT_EMPTY'
  | 'ERR_DURLOG_LOCKED'
  | 'ERR_DURLOG_CLOSED'
  | 'ERR_DURLOG_INVALID_ARGUMENT'
  | 'ERR_DURLOG_RECORD_EMPTY'
  | 'ERR_DURLOG_RECORD_TOO_LARGE'
  | 'ERR_DURLOG_BATCH_TOO_LARGE'
  | 'ERR_DURLOG_BACKPRESSURE'
  | 'ERR_DURLOG_SEQ_CONFLICT'
  | 'ERR_DURLOG_STALLED'
  | 'ERR_DURLOG_SYNC_FAILED'
  | 'ERR_DURLOG_FILE_CHANGED'
  | 'ERR_DURLOG_LATCHED'
  | 'ERR_DURLOG_CORRUPT'
  | 'ERR_DURLOG_UNSUPPORTED'
  | 'ERR_DURLOG_VERSION'
  | 'ERR_DURLOG_OUT_OF_RANGE'
  | 'ERR_DURLOG_VOID'
  | 'ERR_DURLOG_OUT_OF_MEMORY'
  | 'ERR_DURLOG_CURSOR_CUT'
  | 'ERR_DURLOG_DECODE'
  | 'ERR_DURLOG_DESTINATION_AHEAD'
  | 'ERR_DURLOG_DESTINATION_OTHER'
  | 'ERR_DURLOG_DESTINATION_GAP'
  | 'ERR_DURLOG_DESTINATION_MISSING'
  | 'ERR_DURLOG_DESTINATION_REFUSED'
  | 'ERR_DURLOG_DESTINATION_UNREACHABLE'
  | 'ERR_DURLOG_NOT_REPLICATED'
  | 'ERR_DURLOG_FENCED'
  | 'ERR_DURLOG_REPLICA'
  | 'ERR_DURLOG_CURSOR_OVERRUN'
  | 'ERR_DURLOG_NO_BINARY'
  | 'ERR_DURLOG_STREAM_CHANGED'
  | 'ERR_DURLOG_STREAM_ENDED'
  | 'ERR_DURLOG_STREAM_EXISTS'
  | 'ERR_DURLOG_STREAM_DELETED'
  | 'ERR_DURLOG_PRODUCER_FENCED'
  | 'ERR_DURLOG_PRODUCER_GAP'

/** Whether the record of a failed append may be on the device. */
export type FailureOutcome = 'unknown' | 'not-written'

export interface DurlogErrorDetails {
  /** The system's error number (positive) if a system call failed. */
  errno?: number
  /** The name of `errno`, such as "EACCES". */
  errnoName?: string
  /** The name of the system call that failed. */
  syscall?: string
  path?: string
  /** Byte offset within `path`. */
  offset?: number
  /**
   * The id of the process that holds the log or the cursor (ERR_DURLOG_LOCKED), or that is not responding
   * (ERR_DURLOG_STALLED). Absent if it is unknown.
   */
  ownerPid?: number
  /**
   * ERR_DURLOG_SEQ_CONFLICT, ERR_DURLOG_STREAM_ENDED: the seq that the record would have got. ERR_DURLOG_PRODUCER_GAP:
   * the producer's next seq.
   */
  nextSeq?: number
  /** ERR_DURLOG_PRODUCER_FENCED, ERR_DURLOG_PRODUCER_GAP: the producer's epoch in the stream, if it has one. */
  epoch?: number
  /**
   * The first and the last lost seq. ERR_DURLOG_CURSOR_CUT and ERR_DURLOG_CURSOR_OVERRUN: the records that were cut or
   * trimmed. ERR_DURLOG_VOID: the seqs that have no record. ERR_DURLOG_CORRUPT: the records that cannot be read, if
   * they are known.
   */
  lostFirst?: number
  lostLast?: number
  /** For a failed append: whether its record may be on the device, or was never written. */
  outcome?: FailureOutcome
  cause?: unknown
}

/** The names of the system's error numbers; of several for one number, the first. */
const ERRNO_NAMES = new Map(
  Object.entries(constants.errno)
    .reverse()
    .map(([name, errno]) => [errno, name]),
)

/** The class of every error that durlog raises. `code` is stable; the message gives the reason and the remedy. */
export class DurlogError extends Error {
  declare readonly code: DurlogErrorCode
  // `declare` defines no property: a detail that does not apply is absent from the error.
  declare readonly errno?: number
  declare readonly errnoName?: string
  declare readonly syscall?: string
  declare readonly path?: string
  declare readonly offset?: number
  declare readonly ownerPid?: number
  declare readonly nextSeq?: number
  declare readonly epoch?: number
  declare readonly lostFirst?: number
  declare readonly lostLast?: number
  declare readonly outcome?: FailureOutcome

  static {
    // On the prototype: V8 writes the name into the stack's first line before the constructor's body runs.
    Object.defineProperty(DurlogError.prototype, 'name', { value: 'DurlogError', writable: true, configurable: true })
  }

  constructor(code: DurlogErrorCode, message: string, details: DurlogErrorDetails = {}) {
    const { cause, ...rest } = details
    super(message, cause === undefined ? undefined : { cause })
    Object.assign(this, { code }, rest)
    const errnoName = rest.errnoName ?? (rest.errno === undefined ? undefined : ERRNO_NAMES.get(rest.errno))
    if (errnoName !== undefined) Object.assign(this, { errnoName })
  }
}

export function isCode(error: unknown, code: DurlogErrorCode): error is DurlogError {
  return error instanceof DurlogError && error.code === code
}

/** A copy of `error` for one waiting append, with `outcome` added to its code and details. */
export function withOutcome(error: DurlogError, outcome: FailureOutcome): DurlogError {
  const unknown =
    error.code === 'ERR_DURLOG_STALLED'
      ? 'the record is stored and not acknowledged'
      : 'the record may or may not be stored'
  return becauseOf(error, `${error.message}; ${outcome === 'unknown' ? unknown : 'the record was not written'}`, {
    outcome,
  })
}

/** An error with the code and the details of `cause`, and another message. */
export function becauseOf(cause: DurlogError, message: string, more: DurlogErrorDetails = {}): DurlogError {
  const { errno, syscall, path, offset, ownerPid } = cause
  return new DurlogError(cause.code, message, {
    ...(errno !== undefined && { errno }),
    ...(syscall !== undefined && { syscall }),
    ...(path !== undefined && { path }),
    ...(offset !== undefined && { offset }),
    ...(ownerPid !== undefined && { ownerPid }),
    ...more,
    cause,
  })
}

/** Codes of an append that has written nothing. The caller may repeat it. */
const NOT_WRITTEN: readonly DurlogErrorCode[] = [
  'ERR_DURLOG_NO_SPACE',
  'ERR_DURLOG_TOO_MANY_FILES',
  'ERR_DURLOG_OUT_OF_MEMORY',
  // A failed call for a record that may be stored has one of the codes below, or an outcome already.
  'ERR_DURLOG_IO',
]

/** Codes of an append that was made but not acknowledged. */
const UNKNOWN: readonly DurlogErrorCode[] = ['ERR_DURLOG_SYNC_FAILED', 'ERR_DURLOG_FILE_CHANGED', 'ERR_DURLOG_STALLED']

/** Adds the outcome to the error of an append that failed during the call. Returns any other error unchanged. */
export function outcomeOfCall(error: unknown): unknown {
  if (!(error instanceof DurlogError) || error.outcome !== undefined) return error
  if (NOT_WRITTEN.includes(error.code)) return withOutcome(error, 'not-written')
  return UNKNOWN.includes(error.code) ? withOutcome(error, 'unknown') : error
}

export function invalidArgument(message: string): DurlogError {
  return new DurlogError('ERR_DURLOG_INVALID_ARGUMENT', message)
}

export function outOfRange(message: string): DurlogError {
  return new DurlogError('ERR_DURLOG_OUT_OF_RANGE', message)
}

/** The error of a call on the log in `dir`, which `cause` has latched. */
export function latchedError(dir: string, cause: DurlogError | undefined): DurlogError {
  const message = `the log in ${dir} was latched by an earlier failure${cause === undefined ? '' : ` (${cause.message})`}: close the log and open it again`
  return new DurlogError('ERR_DURLOG_LATCHED', message, { path: cause?.path ?? dir, cause })
}

/** The error of calls that wait because process `pid` (0: unknown) delays `seq` and all later records. */
export function stalledError(pid: number, seq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_STALLED',
    `another writer${pid === 0 ? '' : ` (process ${pid})`} is stopped or slow, and delays seq ${seq} and all later records; resume or kill it`,
    pid === 0 ? {} : { ownerPid: pid },
  )
}

/**
 * The error of a call of the core that did nothing and returned no reason, because Node allows no more calls in a
 * worker that is being terminated.
 */
export function terminatedError(dir: string): DurlogError {
  const message = `the call on the log in ${dir} did nothing: this worker is being terminated`
  return new DurlogError('ERR_DURLOG_CLOSED', message, { outcome: 'not-written' })
}

export function closedError(dir: string): DurlogError {
  return new DurlogError('ERR_DURLOG_CLOSED', `the log in ${dir} has been closed; open it again`)
}

export function replacedError(dir: string): DurlogError {
  const message = 'the folder was replaced and holds another log now: close the log and open it again'
  return new DurlogError('ERR_DURLOG_NOT_A_LOG', `${message} [${dir}]`, { path: dir })
}

export function closedStreamsError(dir: string): DurlogError {
  return new DurlogError('ERR_DURLOG_CLOSED', `the folder of streams ${dir} has been closed; open it again`)
}

export function replacedStreamsError(dir: string): DurlogError {
  const message = `the folder of streams ${dir} was replaced by another one: close it and open it again`
  return new DurlogError('ERR_DURLOG_NOT_A_LOG', message, { path: dir })
}
