import { DurlogError } from '../errors.js'

/** The error of a shipper, an archiver or a restore whose attempts have failed for longer than `retryForMs`. */
export function unreachableError(failingMs: number, cause: Error): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_UNREACHABLE',
    `every attempt has failed for ${Math.round(failingMs / 1000)} s (retryForMs): ${cause.message}`,
    { cause },
  )
}
