/** How the command reports an error: code, message, advice, exit status. */
import { DurlogError, type DurlogErrorCode } from '../errors.js'
import { ExitCode } from '../terminal/exit-codes.js'
import { InputError } from '../terminal/input-error.js'
import { OutputClosedError } from '../terminal/output.js'

export interface Failure {
  code: string
  message: string
  /** What to do; '' if the message says it. */
  advice: string
  exitCode: number
  details: Record<string, unknown>
}

const EXIT_CODES: Record<DurlogErrorCode, number> = {
  ERR_DURLOG_IO: ExitCode.io,
  ERR_DURLOG_NO_SPACE: ExitCode.noSpace,
  ERR_DURLOG_TOO_MANY_FILES: ExitCode.io,
  ERR_DURLOG_NOT_FOUND: ExitCode.noLog,
  ERR_DURLOG_NOT_A_LOG: ExitCode.noLog,
  ERR_DURLOG_NOT_EMPTY: ExitCode.badInput,
  ERR_DURLOG_LOCKED: ExitCode.locked,
  ERR_DURLOG_CLOSED: ExitCode.io,
  ERR_DURLOG_INVALID_ARGUMENT: ExitCode.usage,
  ERR_DURLOG_RECORD_EMPTY: ExitCode.badInput,
  ERR_DURLOG_RECORD_TOO_LARGE: ExitCode.badInput,
  ERR_DURLOG_BATCH_TOO_LARGE: ExitCode.badInput,
  ERR_DURLOG_BACKPRESSURE: ExitCode.io,
  ERR_DURLOG_SEQ_CONFLICT: ExitCode.badInput,
  ERR_DURLOG_SYNC_FAILED: ExitCode.io,
  ERR_DURLOG_LATCHED: ExitCode.io,
  ERR_DURLOG_CORRUPT: ExitCode.corrupt,
  ERR_DURLOG_UNSUPPORTED: ExitCode.io,
  ERR_DURLOG_VERSION: ExitCode.noLog,
  ERR_DURLOG_OUT_OF_RANGE: ExitCode.badInput,
  ERR_DURLOG_VOID: ExitCode.badInput,
  ERR_DURLOG_OUT_OF_MEMORY: ExitCode.io,
  ERR_DURLOG_CURSOR_OVERRUN: ExitCode.badInput,
  ERR_DURLOG_DECODE: ExitCode.badInput,
  ERR_DURLOG_STALLED: ExitCode.io,
  ERR_DURLOG_CURSOR_CUT: ExitCode.badInput,
  ERR_DURLOG_DESTINATION_AHEAD: ExitCode.otherRecords,
  ERR_DURLOG_DESTINATION_OTHER: ExitCode.otherRecords,
  ERR_DURLOG_DESTINATION_GAP: ExitCode.otherRecords,
  ERR_DURLOG_DESTINATION_MISSING: ExitCode.noLog,
  ERR_DURLOG_DESTINATION_REFUSED: ExitCode.refused,
  ERR_DURLOG_DESTINATION_UNREACHABLE: ExitCode.unreachable,
  ERR_DURLOG_NO_BINARY: ExitCode.io,
}

const ADVICE: Partial<Record<DurlogErrorCode, string>> = {
  ERR_DURLOG_NOT_FOUND: 'check the folder\'s name; "durlog append DIR" makes a log',
  ERR_DURLOG_NOT_A_LOG: 'the folder holds something else; name an empty or a new one',
  ERR_DURLOG_LOCKED: 'wait with --wait-lock MS, or end that process; cat, tail, get, stat and verify need no lock',
  ERR_DURLOG_NO_SPACE: 'make room (durlog trim DIR --before SEQ removes old segments) and try again',
  ERR_DURLOG_CORRUPT: '"durlog verify DIR" lists what is damaged; --salvage reads what is whole',
  ERR_DURLOG_SYNC_FAILED: 'the device refused a write: look at the system log, then at "durlog verify DIR"',
  ERR_DURLOG_LATCHED: 'the device refused a write: look at the system log, then at "durlog verify DIR"',
  ERR_DURLOG_RECORD_EMPTY: 'a record has at least one byte; --skip-empty leaves empty ones out',
  ERR_DURLOG_RECORD_TOO_LARGE: 'raise --max-record-bytes, and --segment-bytes with it if need be',
  ERR_DURLOG_UNSUPPORTED: 'leave --strategy and --preallocate at auto',
  ERR_DURLOG_OUT_OF_RANGE: '"durlog stat DIR" prints the first and the last seq',
  ERR_DURLOG_INVALID_ARGUMENT: '"durlog COMMAND --help" lists the options',
}

export function toFailure(error: unknown): Failure {
  // `await using` wraps the first error if closing the log failed too.
  if (error instanceof Error && error.name === 'SuppressedError' && 'suppressed' in error)
    return toFailure(error.suppressed)
  if (error instanceof DurlogError) {
    const { code, message } = error
    const details: Record<string, unknown> = {}
    for (const key of Object.keys(error)) {
      if (key !== 'code' && key !== 'cause') details[key] = (error as unknown as Record<string, unknown>)[key]
    }
    return { code, message, advice: ADVICE[code] ?? '', exitCode: EXIT_CODES[code], details }
  }
  if (error instanceof InputError) {
    const code = error.exitCode === ExitCode.usage ? 'USAGE' : 'BAD_INPUT'
    return { code, message: error.message, advice: '', exitCode: error.exitCode, details: {} }
  }
  const { code = 'ERR_UNEXPECTED', message = String(error) } = error as NodeJS.ErrnoException
  const exitCode = code === 'ENOSPC' ? ExitCode.noSpace : code === 'ENOENT' ? ExitCode.noLog : ExitCode.io
  return { code, message, advice: '', exitCode, details: {} }
}

/**
 * Writes the failure to stderr, as one JSON object with `json`; returns the exit status. A closed stdout is no
 * failure: the status stays that of the command.
 */
export function reportFailure(error: unknown, json: boolean): number {
  if (isOutputClosed(error)) return Number(process.exitCode ?? ExitCode.ok)
  const { code, message, advice, exitCode, details } = toFailure(error)
  if (json) {
    process.stderr.write(`${JSON.stringify({ error: { code, message, advice, exitCode, ...details } })}\n`)
  } else {
    process.stderr.write(`durlog: ${code}: ${message}\n${advice === '' ? '' : `  ${advice}\n`}`)
  }
  return exitCode
}

function isOutputClosed(error: unknown): boolean {
  if (error instanceof Error && 'suppressed' in error) return isOutputClosed(error.suppressed)
  return error instanceof OutputClosedError
}
