/** Parsers for sizes, durations and times on the command line. */
import { type Command, InvalidArgumentError } from 'commander'
import { parseBytes, parseMillis } from '../options/amounts.js'
import { parseIsoTime } from '../options/call-options.js'

/** Parses a number of bytes, with or without a unit of 1024: 65536, 64K, 64KiB. */
export function toBytes(text: string): number {
  const bytes = /^\d+$/.test(text) ? Number(text) : parseBytes(text)
  if (bytes !== undefined && Number.isSafeInteger(bytes)) return bytes
  throw new InvalidArgumentError('It must be a number of bytes, such as 65536, 64K or 64MiB.')
}

/** The longest time that a timer of Node can wait. */
const MAX_WAIT_MS = 2 ** 31 - 1

/** Parses a time to wait, in milliseconds or with a unit, and returns milliseconds. */
export function toWaitMs(text: string): number {
  const ms = /^\d+$/.test(text) ? Number(text) : parseMillis(text)
  if (ms !== undefined && Number.isInteger(ms) && ms <= MAX_WAIT_MS) return ms
  throw new InvalidArgumentError(`It must be milliseconds, or a time such as 90s, 15m or 2h, up to ${MAX_WAIT_MS} ms.`)
}

/**
 * Parses a time (ISO 8601, milliseconds since 1970, or a time ago such as 90s, 15m, 2h, 7d) and returns milliseconds
 * since 1970.
 */
export function toTimeMs(text: string): number {
  const agoMs = parseMillis(text)
  const ms = agoMs !== undefined ? Date.now() - agoMs : /^\d{9,}$/.test(text) ? Number(text) : parseIsoTime(text)
  if (ms >= 0) return ms
  throw new InvalidArgumentError(
    'It must be a time (2026-01-31, 2026-01-31T12:00, 2026-01-31T12:00Z) or how long ago (90s, 15m, 2h, 7d).',
  )
}

/** Parses a duration such as 90s, 15m, 2h or 7d, and returns milliseconds. */
export function toAgeMs(text: string): number {
  const ms = parseMillis(text)
  if (ms === undefined) throw new InvalidArgumentError('It must be a duration, such as 90s, 15m, 2h or 7d.')
  return ms
}

export interface TimeFlags {
  since?: number
  until?: number
}

/** Adds the options --since and --until. `verb` begins their descriptions. */
export function addTimes(command: Command, verb = 'print records'): Command {
  return command
    .option(
      '--since <time>',
      `${verb} from this time on: ISO 8601 (local time without a zone), or how long ago (90s, 15m, 2h, 7d)`,
      toTimeMs,
    )
    .option('--until <time>', `${verb} before this time`, toTimeMs)
}

/** Adds the option --retry-for, whose default is `preset`, as text. */
export function addRetryFor(command: Command, preset: string = 'never'): Command {
  const text = `stop after this time of failures in a row (default: ${preset})`
  return command.option('--retry-for <duration>', text, toWaitMs)
}
