/** What the command's exit status says; scripts rely on these. */
import type { DurlogErrorCode } from '../errors.js'

export const ExitCode = {
  ok: 0,
  /** verify, repair: a torn tail or a hole, nothing that was acknowledged at sync. */
  torn: 1,
  /** Damage below what is known to have been synced. */
  corrupt: 2,
  usage: 64,
  badInput: 65,
  noLog: 66,
  noSpace: 73,
  io: 74,
  locked: 75,
} as const

export const EXIT_CODES_HELP: string = `
Exit status: 0 done; 1 torn tail or hole (verify, repair); 2 corrupt; 64 wrong usage; 65 bad input;
66 no log there; 73 no space; 74 input or output failed; 75 locked by another writer. It is the same
where nobody reads the output to its end.`

const BY_ERROR: Record<DurlogErrorCode, number> = {
  ERR_DURLOG_IO: ExitCode.io,
  ERR_DURLOG_NO_SPACE: ExitCode.noSpace,
  ERR_DURLOG_TOO_MANY_FILES: ExitCode.io,
  ERR_DURLOG_NOT_FOUND: ExitCode.noLog,
  ERR_DURLOG_NOT_A_LOG: ExitCode.noLog,
  ERR_DURLOG_LOCKED: ExitCode.locked,
  ERR_DURLOG_READ_ONLY: ExitCode.io,
  ERR_DURLOG_CLOSED: ExitCode.io,
  ERR_DURLOG_INVALID_ARGUMENT: ExitCode.usage,
  ERR_DURLOG_RECORD_EMPTY: ExitCode.badInput,
  ERR_DURLOG_RECORD_TOO_LARGE: ExitCode.badInput,
  ERR_DURLOG_BATCH_TOO_LARGE: ExitCode.badInput,
  ERR_DURLOG_BACKPRESSURE: ExitCode.io,
  ERR_DURLOG_SYNC_FAILED: ExitCode.io,
  ERR_DURLOG_LATCHED: ExitCode.io,
  ERR_DURLOG_CORRUPT: ExitCode.corrupt,
  ERR_DURLOG_UNSUPPORTED: ExitCode.io,
  ERR_DURLOG_VERSION: ExitCode.noLog,
  ERR_DURLOG_OUT_OF_RANGE: ExitCode.badInput,
  ERR_DURLOG_OUT_OF_MEMORY: ExitCode.io,
  ERR_DURLOG_NO_BINARY: ExitCode.io,
}

export function exitCodeOf(code: DurlogErrorCode): number {
  return BY_ERROR[code]
}
