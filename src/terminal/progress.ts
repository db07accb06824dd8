/** A bar on stderr, only where a person watches. */

export interface Progress {
  /** How much of the whole is done. */
  update(done: number): void
  stop(): void
}

const SILENT: Progress = { update() {}, stop() {} }
const REDRAW_MS = 100
const BAR_CELLS = 40
const CLEAR_LINE = '\r\x1b[K'
const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'

/** 75000 as "1m15s". */
export function formatElapsed(millis: number): string {
  const seconds = Math.floor(millis / 1000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}

/** The line after `millis`; with `total` 0 only the time. */
export function progressLine(label: string, done: number, total: number, millis: number): string {
  if (total === 0) return `${label} ${formatElapsed(millis)}`
  const share = Math.min(1, done / total)
  const filled = Math.floor(share * BAR_CELLS)
  const bar = '#'.repeat(filled) + '-'.repeat(BAR_CELLS - filled)
  return `${label} [${bar}] ${Math.floor(share * 100)}% | ${formatElapsed(millis)}`
}

/** A bar for `total` bytes or records; with `total` 0 only the time runs. Silent unless stderr is a terminal. */
export async function startProgress(label: string, total: number, silent: boolean): Promise<Progress> {
  const { stderr } = process
  if (silent || stderr.isTTY !== true) return SILENT
  const started = performance.now()
  let done = 0
  const draw = (): void => {
    // A line that wraps could not be cleared.
    const line = progressLine(label, done, total, performance.now() - started).slice(0, (stderr.columns || 80) - 1)
    stderr.write(`${CLEAR_LINE}${line}`)
  }
  const showCursor = (): void => void stderr.write(`${CLEAR_LINE}${SHOW_CURSOR}`)
  stderr.write(HIDE_CURSOR)
  draw()
  const timer = setInterval(draw, REDRAW_MS)
  timer.unref()
  process.once('exit', showCursor)
  return {
    update: (now) => {
      done = now
    },
    stop: () => {
      clearInterval(timer)
      process.removeListener('exit', showCursor)
      showCursor()
    },
  }
}
