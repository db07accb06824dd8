/** Checks whether the system's clock is plausible, because it determines the times of records. */
import { type Finding, ok, warn } from './finding.js'

const CHECK = 'clock'
const ADVICE = 'set the clock (chrony, ntpd, systemd-timesyncd) before you append more records'
/** durlog did not exist before this time, so an earlier clock was never set. */
const EARLIEST_MS = Date.UTC(2026, 0, 1)
const LATEST_MS = Date.UTC(2100, 0, 1)
const TOLERATED_MS = 2000

export interface Times {
  /** The clock before a file was created. */
  beforeMs: number
  /** The modification time of that file. */
  fileMs: number
  /** The clock after that; a busy machine may take seconds. */
  nowMs: number
  /** The time of the newest record of the log in the folder; undefined if there is none. */
  newestMs: number | undefined
}

export function judgeClock({ beforeMs, fileMs, nowMs, newestMs }: Times): Finding {
  const now = formatTime(nowMs)
  if (nowMs < EARLIEST_MS || nowMs > LATEST_MS) return warn(CHECK, `the clock is set to ${now}`, ADVICE)
  if (newestMs !== undefined && newestMs > nowMs + TOLERATED_MS)
    return warn(
      CHECK,
      `the clock is set to ${now}, but the newest record has the time ${formatTime(newestMs)}: the clock was set back, or the record was appended with that time`,
      ADVICE,
    )
  if (fileMs < beforeMs - TOLERATED_MS || fileMs > nowMs + TOLERATED_MS)
    return warn(CHECK, `the clock is set to ${now}, but that of the file system to ${formatTime(fileMs)}`, ADVICE)
  return ok(CHECK, newestMs === undefined ? now : `${now}; the newest record has the time ${formatTime(newestMs)}`)
}

function formatTime(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? `${ms} ms since 1970` : date.toISOString()
}
