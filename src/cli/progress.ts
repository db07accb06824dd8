/** A bar on stderr, only where a person watches. */

export interface Progress {
  /** How much of the whole is done. */
  update(done: number): void
  stop(): void
}

const SILENT: Progress = { update() {}, stop() {} }
const REDRAW_MS = 100

/** A bar for `total` bytes or records; with `total` 0 only the time runs. Silent unless stderr is a terminal. */
export async function startProgress(label: string, total: number, silent: boolean): Promise<Progress> {
  if (silent || process.stderr.isTTY !== true) return SILENT
  const { SingleBar } = await import('cli-progress')
  const format = total > 0 ? `${label} [{bar}] {percentage}% | {duration_formatted}` : `${label} {duration_formatted}`
  const bar = new SingleBar({
    stream: process.stderr,
    format,
    clearOnComplete: true,
    hideCursor: true,
    barCompleteChar: '#',
    barIncompleteChar: '-',
    fps: 1000 / REDRAW_MS,
  })
  bar.start(total, 0)
  const timer = setInterval(() => bar.updateETA(), REDRAW_MS)
  timer.unref()
  return {
    update: (done) => bar.update(Math.min(done, total)),
    stop: () => {
      clearInterval(timer)
      bar.stop()
    },
  }
}
