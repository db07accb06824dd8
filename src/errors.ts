/** The one error class of the package, and the codes it carries. */
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
  /** The system's errno, positive, if a system call failed. */
  errno?: number
  /** Its name, such as "EACCES", if `errno` is known. */
  errnoName?: string
  /** The name of that system call. */
  syscall?: string
  path?: string
  /** Byte offset within `path`. */
  offset?: number
  /** The process, if known, that holds the log or the cursor (ERR_DURLOG_LOCKED), or that is not responding (ERR_DURLOG_STALLED). */
  ownerPid?: number
  /**
   * ERR_DURLOG_SEQ_CONFLICT, ERR_DURLOG_STREAM_ENDED: the seq that the record would have got. ERR_DURLOG_PRODUCER_GAP: the
   * producer's next seq.
   */
  nextSeq?: number
  /** ERR_DURLOG_PRODUCER_FENCED, ERR_DURLOG_PRODUCER_GAP: the producer's epoch in the stream, if it has one. */
  epoch?: number
  /** The first and the last lost seq; of a cursor, the records that were cut or trimmed. ERR_DURLOG_VOID: the seqs without a record. */
  lostFirst?: number
  lostLast?: number
  /** A failed append: whether the record may be on the device or was never written. */
  outcome?: FailureOutcome
  cause?: unknown
}

function nameOfErrno(errno: number | undefined): string | undefined {
  if (errno === undefined) return undefined
  return Object.entries(constants.errno).find(([, value]) => value === errno)?.[0]
}

/** Every error that durlog raises. `code` is stable; the message says what to do. */
export class DurlogError extends Error {
  declare readonly code: DurlogErrorCode
  // Declared, not defined: a detail that does not apply is not a property of the error.
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
    // On the prototype, so that the stack's first line carries it from the start.
    Object.defineProperty(DurlogError.prototype, 'name', { value: 'DurlogError', writable: true, configurable: true })
  }

  constructor(code: DurlogErrorCode, message: string, details: DurlogErrorDetails = {}) {
    const { cause, ...rest } = details
    super(message, cause === undefined ? undefined : { cause })
    Object.assign(this, { code }, rest)
    const errnoName = rest.errnoName ?? nameOfErrno(rest.errno)
    if (errnoName !== undefined) Object.assign(this, { errnoName })
  }
}

export function isCode(error: unknown, code: DurlogErrorCode): error is DurlogError {
  return error instanceof DurlogError && error.code === code
}

/** A copy of `error` for one waiting append: the same code and details, and whether its record was written. */
export function withOutcome(error: DurlogError, outcome: FailureOutcome): DurlogError {
  const unknown =
    error.code === 'ERR_DURLOG_STALLED'
      ? 'the record is stored and not acknowledged'
      : 'the record may or may not be stored'
  const { errno, syscall, path, offset, ownerPid } = error
  return new DurlogError(
    error.code,
    `${error.message}; ${outcome === 'unknown' ? unknown : 'the record was not written'}`,
    {
      ...(errno !== undefined && { errno }),
      ...(syscall !== undefined && { syscall }),
      ...(path !== undefined && { path }),
      ...(offset !== undefined && { offset }),
      ...(ownerPid !== undefined && { ownerPid }),
      outcome,
      cause: error,
    },
  )
}

/** Codes of a lack of resources: the append has written nothing and may be repeated. */
const LACKS: readonly DurlogErrorCode[] = [
  'ERR_DURLOG_NO_SPACE',
  'ERR_DURLOG_TOO_MANY_FILES',
  'ERR_DURLOG_OUT_OF_MEMORY',
]

/** Codes of an append that has been made and not acknowledged. */
const UNKNOWN: readonly DurlogErrorCode[] = ['ERR_DURLOG_SYNC_FAILED', 'ERR_DURLOG_STALLED']

/** The error of an append that failed in the call, with its outcome. */
export function outcomeOfCall(error: unknown): unknown {
  if (!(error instanceof DurlogError) || error.outcome !== undefined) return error
  if (LACKS.includes(error.code)) return withOutcome(error, 'not-written')
  return UNKNOWN.includes(error.code) ? withOutcome(error, 'unknown') : error
}

/** The codes of the system's errors that are a lack of resources. */
const CODES_OF_LACKS: ReadonlyMap<string, DurlogErrorCode> = new Map([
  ['ENOSPC', 'ERR_DURLOG_NO_SPACE'],
  ['EDQUOT', 'ERR_DURLOG_NO_SPACE'],
  ['EFBIG', 'ERR_DURLOG_NO_SPACE'],
  ['EMFILE', 'ERR_DURLOG_TOO_MANY_FILES'],
  ['ENFILE', 'ERR_DURLOG_TOO_MANY_FILES'],
  ['ENOMEM', 'ERR_DURLOG_OUT_OF_MEMORY'],
])

/** The error of a call of Node's `fs`, or of the core for files that are not those of a log; any other error as it is. */
export function ofFileSystem(error: unknown): unknown {
  const { errno, code, syscall, path, message } = error as NodeJS.ErrnoException
  if (errno === undefined || code === undefined) return error
  const errnoName = error instanceof DurlogError ? error.errnoName : code
  const lack = CODES_OF_LACKS.get(errnoName ?? '')
  if (error instanceof DurlogError && (error.code !== 'ERR_DURLOG_IO' || lack === undefined)) return error
  return new DurlogError(lack ?? 'ERR_DURLOG_IO', message, {
    errno: Math.abs(errno),
    ...(errnoName !== undefined && { errnoName }),
    ...(syscall !== undefined && { syscall }),
    ...(path !== undefined && { path }),
    cause: error,
  })
}

export function invalidArgument(message: string): DurlogError {
  return new DurlogError('ERR_DURLOG_INVALID_ARGUMENT', message)
}

export function outOfRange(message: string): DurlogError {
  return new DurlogError('ERR_DURLOG_OUT_OF_RANGE', message)
}

export function latchedError(dir: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_LATCHED',
    `an earlier sync of the log in ${dir} failed, and what is on the device is not known; close it and open it again`,
  )
}

/** Process `pid`, or one that is not known if it is 0, holds up `seq` and all after it. */
export function stalledError(pid: number, seq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_STALLED',
    `another writer is stopped or slow, and holds up seq ${seq} and all after it${pid === 0 ? '' : `: process ${pid}`}`,
    pid === 0 ? {} : { ownerPid: pid },
  )
}

/** The core has not done what it was called for, and could not say why: Node lets nothing be called any more. */
export function terminatedError(dir: string): DurlogError {
  const message = `the call of the log in ${dir} was not done: this worker is being terminated`
  return new DurlogError('ERR_DURLOG_CLOSED', message, { outcome: 'not-written' })
}

export function closedError(dir: string): DurlogError {
  return new DurlogError('ERR_DURLOG_CLOSED', `the log in ${dir} has been closed; open it again`)
}
