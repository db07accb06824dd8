/** Sizes, durations and times on the command line. */
import { type Command, InvalidArgumentError } from 'commander'
import { parseBytes, parseMillis } from '../options/amounts.js'

/** A number of bytes, maybe with a unit of 1024: 65536, 64K, 64KiB. */
export function toBytes(text: string): number {
  const bytes = /^\d+$/.test(text) ? Number(text) : parseBytes(text)
  if (bytes !== undefined && Number.isSafeInteger(bytes)) return bytes
  throw new InvalidArgumentError('It must be a number of bytes, such as 65536, 64K or 64MiB.')
}

/** The longest that a timer of Node can wait. */
const MAX_WAIT_MS = 2 ** 31 - 1

/** How long to wait: milliseconds, or with a unit. */
export function toWaitMs(text: string): number {
  const ms = /^\d+$/.test(text) ? Number(text) : parseMillis(text)
  if (ms !== undefined && Number.isInteger(ms) && ms <= MAX_WAIT_MS) return ms
  throw new InvalidArgumentError(`It must be milliseconds, or a time such as 90s, 15m or 2h, up to ${MAX_WAIT_MS} ms.`)
}

/** A date, maybe with a time and a zone; without a zone it is local time. */
const ISO_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s?(Z|[+-]\d\d:?\d\d)?)?$/i

/** ISO 8601 in milliseconds since 1970; NaN for any other text, and for days that no month has. */
export function parseIsoTime(text: string): number {
  const [, day, time = '00:00', zone = ''] = ISO_TIME.exec(text) ?? []
  if (day === undefined || Number.isNaN(Date.parse(day))) return Number.NaN
  // JavaScript makes the 30th of February the 2nd of March.
  if (new Date(`${day}T00:00Z`).toISOString().slice(0, 10) !== day) return Number.NaN
  return Date.parse(`${day}T${time}${zone.toUpperCase().replace(/(\d\d)(\d\d)$/, '$1:$2')}`)
}

/** A moment: ISO 8601, milliseconds since 1970, or how long ago (90s, 15m, 2h, 7d). Milliseconds since 1970. */
export function toTimeMs(text: string): number {
  const agoMs = parseMillis(text)
  const ms = agoMs !== undefined ? Date.now() - agoMs : /^\d{9,}$/.test(text) ? Number(text) : parseIsoTime(text)
  if (ms >= 0) return ms
  throw new InvalidArgumentError(
    'It must be a time (2026-01-31, 2026-01-31T12:00, 2026-01-31T12:00Z) or how long ago (90s, 15m, 2h, 7d).',
  )
}

/** A length of time, such as 90s, 15m, 2h or 7d, in milliseconds. */
export function toAgeMs(text: string): number {
  const ms = parseMillis(text)
  if (ms === undefined) throw new InvalidArgumentError('It must be a length of time: 90s, 15m, 2h, 7d.')
  return ms
}

export interface TimeFlags {
  since?: number
  until?: number
}

/** The options that bound by time what is read; `verb` says what for. */
export function addTimes(command: Command, verb = 'print records'): Command {
  return command
    .option(
      '--since <time>',
      `${verb} from this time on: ISO 8601 (local time without a zone), or how long ago (90s, 15m, 2h, 7d)`,
      toTimeMs,
    )
    .option('--until <time>', `${verb} before this time`, toTimeMs)
}
