/** A progress bar on stderr if that is a terminal. */

export interface Progress {
  /** Sets how much of the whole is done, and how much the whole is if that has become known. */
  update(done: number, total?: number): void
  stop(): void
}

const SILENT: Progress = { update() {}, stop() {} }
const REDRAW_MS = 100
const SHOW_AFTER_MS = 1000
const BAR_CELLS = 40
const CLEAR_LINE = '\r\x1b[K'
const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'

/** 75000 as "1m15s". */
export function formatElapsed(millis: number): string {
  const seconds = Math.floor(millis / 1000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}

/** The text of the line `millis` after the start; with `total` 0 only the time. */
export function progressLine(label: string, done: number, total: number, millis: number): string {
  if (total === 0) return `${label} ${formatElapsed(millis)}`
  const share = Math.min(1, done / total)
  const filled = Math.floor(share * BAR_CELLS)
  const bar = '#'.repeat(filled) + '-'.repeat(BAR_CELLS - filled)
  return `${label} [${bar}] ${Math.floor(share * 100)}% | ${formatElapsed(millis)}`
}

/**
 * A bar for `total` bytes or records; with `total` 0 only the time runs. It appears after a second. Silent unless
 * stderr is a terminal.
 */
export function startProgress(label: string, total: number, silent: boolean): Progress {
  const { stderr } = process
  if (silent || stderr.isTTY !== true) return SILENT
  const started = performance.now()
  let [done, whole] = [0, total]
  let shown = false
  const showCursor = (): void => void stderr.write(`${CLEAR_LINE}${SHOW_CURSOR}`)
  const draw = (): void => {
    const elapsedMs = performance.now() - started
    if (elapsedMs < SHOW_AFTER_MS) return
    if (!shown) {
      shown = true
      stderr.write(HIDE_CURSOR)
      process.once('exit', showCursor)
    }
    // A line that wraps could not be cleared.
    const line = progressLine(label, done, whole, elapsedMs).slice(0, (stderr.columns || 80) - 1)
    stderr.write(`${CLEAR_LINE}${line}`)
  }
  const timer = setInterval(draw, REDRAW_MS)
  timer.unref()
  return {
    update: (now, total = whole) => {
      done = now
      whole = total
    },
    stop: () => {
      clearInterval(timer)
      if (!shown) return
      process.removeListener('exit', showCursor)
      showCursor()
    },
  }
}
