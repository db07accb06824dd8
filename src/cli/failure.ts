/** Converts an error to the report of the command: code, message, advice and exit status. */
import type { Command } from 'commander'
import { DurlogError, type DurlogErrorCode } from '../errors.js'
import { ofFileSystem } from '../support/file-system-error.js'
import { isBackup } from '../support/folder-marks.js'
import { ExitCode } from '../terminal/exit-codes.js'
import { InputError } from '../terminal/input-error.js'
import { InterruptedError } from '../terminal/interrupt.js'
import { OutputClosedError, writeErr, writeMessage } from '../terminal/output.js'
import { logFolder } from './streams/folder.js'

export interface Failure {
  code: string
  message: string
  /** The remedy; '' if the message contains it. */
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
  ERR_DURLOG_FILE_CHANGED: ExitCode.io,
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
  ERR_DURLOG_NOT_REPLICATED: ExitCode.io,
  ERR_DURLOG_FENCED: ExitCode.otherRecords,
  ERR_DURLOG_REPLICA: ExitCode.badInput,
  ERR_DURLOG_CURSOR_CUT: ExitCode.badInput,
  ERR_DURLOG_DESTINATION_AHEAD: ExitCode.otherRecords,
  ERR_DURLOG_DESTINATION_OTHER: ExitCode.otherRecords,
  ERR_DURLOG_DESTINATION_GAP: ExitCode.otherRecords,
  ERR_DURLOG_DESTINATION_MISSING: ExitCode.noLog,
  ERR_DURLOG_DESTINATION_REFUSED: ExitCode.refused,
  ERR_DURLOG_DESTINATION_UNREACHABLE: ExitCode.unreachable,
  ERR_DURLOG_NO_BINARY: ExitCode.io,
  ERR_DURLOG_STREAM_CHANGED: ExitCode.corrupt,
  ERR_DURLOG_STREAM_ENDED: ExitCode.badInput,
  ERR_DURLOG_STREAM_EXISTS: ExitCode.badInput,
  ERR_DURLOG_STREAM_DELETED: ExitCode.badInput,
  ERR_DURLOG_PRODUCER_FENCED: ExitCode.badInput,
  ERR_DURLOG_PRODUCER_GAP: ExitCode.badInput,
}

/** The codes of an InputError by its exit status; the code for any other exit status is BAD_INPUT. */
const INPUT_CODES: Record<number, string> = { [ExitCode.usage]: 'USAGE', [ExitCode.noLog]: 'NOT_FOUND' }

/** Whether the command has this option. */
export type Has = (flag: string) => boolean
type Advice = (has: Has, error: DurlogError) => string

const READ_SALVAGE = '"durlog cat DIR --salvage" prints the intact records'
const SEEK = '"durlog cursors DIR --seek NAME --from SEQ" sets the position of the cursor'
const STREAMS_FOLDER =
  'the folder contains streams: "durlog streams DIR ls" lists them; cat, tail, stat, export and verify read them in the same way. Their log is DIR/log'
const FREE_SPACE = 'free space on the file system and try again'
const SYSTEM_LOG = 'the device refused a write: look at the system log (dmesg), then run "durlog verify DIR"'

/** Whether the command works on a folder of streams. */
const isOfStreams = (has: Has): boolean => has('--prefix')

const ADVICE: Partial<Record<DurlogErrorCode, Advice>> = {
  ERR_DURLOG_NOT_FOUND: (has, { path }) =>
    path !== undefined && logFolder(path).hasStreams
      ? STREAMS_FOLDER
      : has('--uuid')
        ? '' // The message of a restore names the source.
        : isOfStreams(has)
          ? '' // The message names the way to create them.
          : 'check the name of the folder; "durlog append DIR" creates a log',
  ERR_DURLOG_NOT_A_LOG: (has, { path }) =>
    path !== undefined && isBackup(path)
      ? '' // The message names the ways to use a backup.
      : has('--log')
        ? 'name a new or empty folder, or a folder of streams; --log DIR serves a log'
        : isOfStreams(has)
          ? 'name a new or empty folder, or a folder of streams; "durlog stat DIR" describes a log'
          : 'name a new or empty folder, or the folder of a log',
  ERR_DURLOG_LOCKED: (has, { path }) => {
    if (path?.endsWith('.cursor'))
      return has('--cursor')
        ? 'stop that process, or name another --cursor: each destination and each consumer has its own'
        : 'stop that process'
    if (has('--max-streams')) return 'stop that process; or, if it shares the folder, serve with --shared too'
    if (isOfStreams(has))
      return 'that process has opened the folder with "exclusive", or is "durlog serve" without --shared: wait until it closes it, or stop it. A server lists its streams at http://HOST:PORT/__ds/streams and returns one at its path; with --shared, this command works while it runs'
    const ways = [
      ...(has('--wait') ? ['wait for it with --wait 10s'] : []),
      ...(has('--shared') ? ['use --shared if that process opened the log as shared'] : []),
      'stop that process',
    ]
    return `${ways.join(', or ')}; cat, tail, get, stat and verify need no lock`
  },
  ERR_DURLOG_NO_SPACE: (has) =>
    has('--uuid')
      ? 'free space on the file system, then run the command again to continue'
      : has('--segment-bytes') && !isOfStreams(has)
        ? 'free space ("durlog trim DIR" removes old segments), or use a smaller --segment-bytes: a new segment is allocated whole'
        : FREE_SPACE,
  ERR_DURLOG_CORRUPT: (has, { path }) => {
    if (path?.startsWith('s3://'))
      return '"durlog restore DIR BUCKET --list" lists the objects; with "--to SEQ", a restore ends before the damaged one'
    const way = has('--apply')
      ? '--from BACKUP puts the lost records back from a backup or an archive; --salvage gives them up'
      : has('--salvage')
        ? '--salvage continues without the damaged records'
        : READ_SALVAGE
    return `"durlog verify DIR" lists the damage; ${way}`
  },
  ERR_DURLOG_SYNC_FAILED: () => SYSTEM_LOG,
  ERR_DURLOG_LATCHED: () => SYSTEM_LOG,
  ERR_DURLOG_CURSOR_OVERRUN: () => SEEK,
  ERR_DURLOG_CURSOR_CUT: () => SEEK,
  ERR_DURLOG_RECORD_EMPTY: () => 'a record has at least one byte',
  ERR_DURLOG_RECORD_TOO_LARGE: (has) =>
    has('--max-record-bytes') ? 'use a larger --max-record-bytes, and a larger --segment-bytes if necessary' : '',
  ERR_DURLOG_OUT_OF_RANGE: (has) =>
    isOfStreams(has)
      ? '"durlog streams DIR stat NAME" prints the first seq and the number of records'
      : '"durlog stat DIR" prints the first and the last seq',
  ERR_DURLOG_DESTINATION_UNREACHABLE: (has) =>
    `check the address${has('--endpoint') ? ' (for a bucket: --endpoint)' : ''}, the network and the server, then run the command again`,
  ERR_DURLOG_INVALID_ARGUMENT: () => '"durlog COMMAND --help" lists the options',
}

/** The advice for system errors of commands with the option `--port`. */
const LISTEN_ADVICE: Record<string, string> = {
  EADDRINUSE: 'another program uses this port: choose another one with --port',
  EADDRNOTAVAIL: '--host must be an address of this machine',
  ENOTFOUND: '--host must be an address of this machine',
  EACCES: 'a port below 1024 needs more rights: choose another one with --port',
}

export function optionsOf(command: Command | undefined): Has {
  return (flag) => command?.options.some(({ long }) => long === flag) === true
}

/** A call or an option of the library, and after it, in parentheses, what a command has for it. */
const NAMED_TWICE =
  /(?<![\w/"])(?:[a-zA-Z]+\(\)|[a-zA-Z]+: \S+) \((durlog [^)]+)\)|(?<![\w/"])[a-zA-Z.]+(?:: \S+)? \((--[^)]+)\)/g
/**
 * The name of an option of the library. A name without a capital letter can be a word of the sentence, unless the
 * message begins with it or a value follows it.
 */
const OPTION =
  /^[a-z]+(?= (?:must|needs|cannot)\b)|(?<![\w/"])(?:[a-z]+(?:[A-Z][a-z]+)+(?:: true)?|[a-z]+: true)(?![\w/"])/g

/** Returns the message of an error of the library with the commands and the flags that its reader can use. */
export function inCommandTerms(message: string, has: Has): string {
  return message
    .replace(NAMED_TWICE, (_, command?: string, flag?: string) => flag ?? `"${command}"`)
    .replace(OPTION, (option) => {
      const name = option.replace(': true', '')
      // A flag accepts a unit, and some omit it in their name.
      const flags = [name, name.replace(/(?:Ms|Bytes)$/, '')].map(
        (text) => `--${text.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`,
      )
      return flags.find(has) ?? option
    })
}

/**
 * Converts an error. `has` returns whether the command has an option, because the advice must mention only such
 * options.
 */
export function toFailure(error: unknown, has: Has): Failure {
  // `await using` wraps the first error if closing the log failed too.
  if (error instanceof Error && error.name === 'SuppressedError' && 'suppressed' in error)
    return toFailure(error.suppressed, has)
  if (error instanceof DurlogError) {
    const { code, message } = error
    const details: Record<string, unknown> = {}
    for (const key of Object.keys(error)) {
      if (key !== 'code' && key !== 'cause') details[key] = (error as unknown as Record<string, unknown>)[key]
    }
    const advice = ADVICE[code]?.(has, error) ?? ''
    return { code, message: inCommandTerms(message, has), advice, exitCode: EXIT_CODES[code], details }
  }
  if (error instanceof InputError) {
    const code = INPUT_CODES[error.exitCode] ?? 'BAD_INPUT'
    return { code, message: error.message, advice: '', exitCode: error.exitCode, details: {} }
  }
  if (error instanceof InterruptedError)
    return { code: 'INTERRUPTED', message: error.message, advice: '', exitCode: error.exitCode, details: {} }
  const { code = 'ERR_UNEXPECTED', message = String(error) } = error as NodeJS.ErrnoException
  const listenAdvice = has('--port') ? LISTEN_ADVICE[code] : undefined
  const known = listenAdvice === undefined ? ofFileSystem(error) : error
  if (known instanceof DurlogError)
    return { ...toFailure(known, has), advice: known.code === 'ERR_DURLOG_NO_SPACE' ? FREE_SPACE : '' }
  // Without the code, which Node's messages have at their beginning or after the name of the call.
  const text = message.replace(`${code}: `, '')
  return { code, message: text, advice: listenAdvice ?? '', exitCode: ExitCode.io, details: {} }
}

/**
 * Writes the failure of `command` to stderr (with `json`, as one JSON object) and returns the exit status. A closed
 * stdout is not a failure: the exit status stays that of the command.
 */
export function reportFailure(error: unknown, json: boolean, command?: Command): number {
  if (isOutputClosed(error)) return Number(process.exitCode ?? ExitCode.ok)
  const { code, message, advice, exitCode, details } = toFailure(error, optionsOf(command))
  if (json) {
    writeErr(`${JSON.stringify({ error: { code, message, advice, exitCode, ...details } })}\n`)
  } else {
    writeMessage('durlog: ', `${code}: ${message}`)
    if (advice !== '') writeMessage('  ', advice)
  }
  return exitCode
}

function isOutputClosed(error: unknown): boolean {
  if (error instanceof Error && 'suppressed' in error) return isOutputClosed(error.suppressed)
  return error instanceof OutputClosedError
}
