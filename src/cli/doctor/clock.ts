/** Whether the clock can be trusted for the records' times. */
import { type Finding, ok, warn } from './finding.js'

const CHECK = 'clock'
const ADVICE = 'set the clock (chrony, ntpd, systemd-timesyncd) before more is appended'
/** A time before durlog existed: the clock was never set. */
const EARLIEST_MS = Date.UTC(2026, 0, 1)
const LATEST_MS = Date.UTC(2100, 0, 1)
const TOLERATED_MS = 2000

export interface Times {
  nowMs: number
  /** When the file system says that a file was made just now. */
  fileMs: number
  /** Of the newest record of the log in the folder; undefined if there is none. */
  newestMs: number | undefined
}

export function judgeClock({ nowMs, fileMs, newestMs }: Times): Finding {
  const now = formatTime(nowMs)
  if (nowMs < EARLIEST_MS || nowMs > LATEST_MS) return warn(CHECK, `the clock says ${now}`, ADVICE)
  if (newestMs !== undefined && newestMs > nowMs + TOLERATED_MS)
    return warn(
      CHECK,
      `it is ${now}, and the newest record has the time ${formatTime(newestMs)}: the clock was set back, or the record was appended with that time`,
      ADVICE,
    )
  if (Math.abs(fileMs - nowMs) > TOLERATED_MS)
    return warn(CHECK, `it is ${now} here, and ${formatTime(fileMs)} on the file system`, ADVICE)
  return ok(CHECK, newestMs === undefined ? now : `${now}; the newest record has the time ${formatTime(newestMs)}`)
}

function formatTime(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? `${ms} ms since 1970` : date.toISOString()
}
