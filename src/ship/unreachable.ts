import { DurlogError } from '../errors.js'

/** The destination has failed for longer than retryForMs. */
export function unreachableError(failingMs: number, cause: Error): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_UNREACHABLE',
    `nothing has succeeded for ${Math.round(failingMs / 1000)} s (retryForMs): ${cause.message}`,
    { cause },
  )
}
