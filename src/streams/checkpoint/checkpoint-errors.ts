/** The errors of checkpoints. */
import { becauseOf, DurlogError, withOutcome } from '../../errors.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import { STREAMS_CURSOR } from '../../support/streams-log.js'

/**
 * The error of a checkpoint whose records are no longer in the main log because a write of the log failed with `cause`.
 */
export function logChangedError(cause: DurlogError | undefined): DurlogError {
  const loading = 'so the streams are being loaded again'
  if (cause === undefined)
    return new DurlogError('ERR_DURLOG_IO', `a write of the main log has failed, ${loading}: call checkpoint again`)
  // `checkpointError` adds the remedy for a full disk.
  const remedy = cause.code === 'ERR_DURLOG_NO_SPACE' ? '' : ': call checkpoint again'
  return becauseOf(cause, `a write of the main log has failed (${cause.message}), ${loading}${remedy}`)
}

/** The error of a checkpoint that cannot trim the main log in `dir`. */
export function missingCursor(dir: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `another program has removed the cursor ${STREAMS_CURSOR} in ${dir}, without which the main log cannot be trimmed; no record is lost: close the folder and open it again`,
    { path: dir },
  )
}

/** The error of a checkpoint that could not write the files of the stream `name` because of `cause`. */
export function blockedError(name: string, cause: DurlogError): DurlogError {
  return becauseOf(
    cause,
    `a file of the stream "${name}" cannot be written: ${cause.message}; no record is lost, because the main log keeps the records of this stream, and the next checkpoint tries again: correct the owner or the mode of the file, or remove what prevents the write`,
  )
}

/** The error of an append to a stream whose files cannot be written. */
export function blockedAppend(cause: DurlogError, held: number): DurlogError {
  return withOutcome(
    becauseOf(
      cause,
      `the streams whose files cannot be written hold ${held} bytes in memory, and take no more records: ${cause.message}`,
    ),
    'not-written',
  )
}

/** The error with which a checkpoint fails because of `cause`. */
export function checkpointError(cause: unknown): DurlogError {
  const error = ofFileSystem(cause)
  if (!(error instanceof DurlogError)) return new DurlogError('ERR_DURLOG_IO', 'a checkpoint failed', { cause })
  if (error.code !== 'ERR_DURLOG_NO_SPACE') return error
  return becauseOf(
    error,
    `the disk is too full for a checkpoint: ${error.message}; no record is lost, and the next checkpoint tries again`,
  )
}
