/** Opens a log for writing. Loaded when the first log is opened for writing, with every module of a writer. */
import { waitForLock } from '../native/lock-wait.js'
import { native } from '../native/native.js'
import { abortable } from '../options/abort-signal.js'
import type { ResolvedOptions } from '../options/open-options.js'
import { refuseCopy } from '../support/folder-marks.js'
import { WritePipeline } from './append/write-pipeline.js'
import { WriterLog, type WriterParts } from './writer-log.js'

export { FramingLog } from './framing-log.js'
export { OrderedLog, RestoringLog } from './ordered-log.js'
export { WriterLog }

/**
 * Takes the lock of the log in folder `dir`, and opens and recovers the log. `Face` is the class of the returned log,
 * which determines the methods that the caller can use. `refuse` throws if the log must not be written.
 */
export async function openWriter<L extends WriterLog>(
  dir: string,
  options: ResolvedOptions,
  Face: new (parts: WriterParts) => L,
  refuse: (dir: string) => void = refuseCopy,
): Promise<L> {
  // Before the log is recovered, and again with its lock.
  refuse(dir)
  let pipeline: WritePipeline | undefined
  const onProgress = (): void => pipeline?.onProgress()
  const { waitMs, signal } = options
  // An attempt of a shared log waits itself, for a writer that is joining or leaving.
  const attempt = (): ReturnType<typeof native.open> =>
    abortable(
      signal,
      () => native.open(dir, options.native, onProgress),
      (late) => void late.close().catch(() => {}),
    )
  const core = await waitForLock(waitMs, attempt, signal)
  try {
    refuse(dir)
    pipeline = new WritePipeline(dir, core, options)
    return new Face({ dir, native: core, pipeline, options })
  } catch (error) {
    await core.close()
    throw error
  }
}
