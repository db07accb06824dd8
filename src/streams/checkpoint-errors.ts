/** The errors of checkpoints. */
import { DurlogError, ofFileSystem } from '../errors.js'

/** The error of a checkpoint whose records are no longer in the main log because a write of the log failed with `cause`. */
export function logChangedError(cause: DurlogError | undefined): DurlogError {
  const { code = 'ERR_DURLOG_IO', errno, syscall, path } = cause ?? {}
  const reason = cause === undefined ? '' : ` (${cause.message})`
  // `checkpointError` adds the remedy for a full disk.
  const remedy = code === 'ERR_DURLOG_NO_SPACE' ? '' : ': call checkpoint again'
  return new DurlogError(
    code,
    `a write of the main log has failed${reason}, so the streams are being loaded again${remedy}`,
    {
      ...(errno !== undefined && { errno }),
      ...(syscall !== undefined && { syscall }),
      ...(path !== undefined && { path }),
      ...(cause !== undefined && { cause }),
    },
  )
}

/** The error with which a checkpoint fails because of `cause`. */
export function checkpointError(cause: unknown): DurlogError {
  const error = ofFileSystem(cause)
  if (!(error instanceof DurlogError)) return new DurlogError('ERR_DURLOG_IO', 'a checkpoint failed', { cause })
  if (error.code !== 'ERR_DURLOG_NO_SPACE') return error
  const { errno, syscall, path } = error
  return new DurlogError(
    error.code,
    `the disk is too full for a checkpoint: ${error.message}; free space: no record is lost, and the next checkpoint tries again`,
    {
      ...(errno !== undefined && { errno }),
      ...(syscall !== undefined && { syscall }),
      ...(path !== undefined && { path }),
      cause: error,
    },
  )
}
