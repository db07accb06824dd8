/** A progress bar on stderr, if stderr is a terminal. */

export interface Progress {
  /** Sets the number of bytes or records that are done, and the total once it is known. */
  update(done: number, total?: number): void
  /** Adds to the number of bytes or records that are done. */
  advance(more: number): void
  stop(): void
}

const SILENT: Progress = { update() {}, advance() {}, stop() {} }
const REDRAW_MS = 100
const SHOW_AFTER_MS = 1000
const BAR_CELLS = 40
const CLEAR_LINE = '\r\x1b[K'
const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'

/** Whether the bar is on the current line of the terminal. */
let isDrawn = false

/** Removes the bar before other text is written to the terminal. The bar is drawn again below that text. */
export function clearBar(): void {
  if (isDrawn) process.stderr.write(CLEAR_LINE)
  isDrawn = false
}

/** Formats 75000 as "1m15s". */
export function formatElapsed(millis: number): string {
  const seconds = Math.floor(millis / 1000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}

/** Returns the text of the line `millis` after the start. If `total` is 0, it shows only the elapsed time. */
export function progressLine(label: string, done: number, total: number, millis: number): string {
  if (total === 0) return `${label} ${formatElapsed(millis)}`
  const share = Math.min(1, done / total)
  const filled = Math.floor(share * BAR_CELLS)
  const bar = '#'.repeat(filled) + '-'.repeat(BAR_CELLS - filled)
  return `${label} [${bar}] ${Math.floor(share * 100)}% | ${formatElapsed(millis)}`
}

/**
 * Starts a bar for `total` bytes or records; if `total` is 0, it shows only the elapsed time. The bar appears after a
 * second. Prints nothing if `silent`, or if stderr is not a terminal. A bar that continues an earlier one has its
 * `started`, a time of `performance.now()`.
 */
export function startProgress(
  label: string,
  total: number,
  silent: boolean,
  started: number = performance.now(),
): Progress {
  const { stderr } = process
  if (silent || stderr.isTTY !== true) return SILENT
  let [done, whole] = [0, total]
  let shown = false
  const showCursor = (): void => {
    clearBar()
    stderr.write(SHOW_CURSOR)
  }
  const draw = (): void => {
    const elapsedMs = performance.now() - started
    if (elapsedMs < SHOW_AFTER_MS) return
    if (!shown) {
      shown = true
      stderr.write(HIDE_CURSOR)
      process.once('exit', showCursor)
    }
    // Cut to the width of the terminal, because a line that wraps cannot be cleared.
    const line = progressLine(label, done, whole, elapsedMs).slice(0, (stderr.columns || 80) - 1)
    stderr.write(`${CLEAR_LINE}${line}`)
    isDrawn = true
  }
  const timer = setInterval(draw, REDRAW_MS)
  timer.unref()
  return {
    update: (now, total = whole) => {
      done = now
      whole = total
    },
    advance: (more) => {
      done += more
    },
    stop: () => {
      clearInterval(timer)
      if (!shown) return
      process.removeListener('exit', showCursor)
      showCursor()
    },
  }
}
