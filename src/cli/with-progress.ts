/** Work of a command that takes long. */
import { reportOnInterrupt } from '../terminal/interrupt.js'
import { type Progress, startProgress } from '../terminal/progress.js'

interface LongWork {
  label: string
  /** The number of bytes or records, if it is known. */
  total?: number
  silent: boolean
  /** Returns the text that is printed if a signal ends the command. Without it, `work` decides what a signal does. */
  interrupted?: (() => string) | undefined
}

/** Shows the progress of `work`. */
export async function withProgress<Result>(
  { label, total = 0, silent, interrupted }: LongWork,
  work: (progress: Progress) => Promise<Result>,
): Promise<Result> {
  const progress = startProgress(label, total, silent)
  const stop = interrupted === undefined ? () => {} : reportOnInterrupt(interrupted)
  try {
    return await work(progress)
  } finally {
    stop()
    progress.stop()
  }
}
