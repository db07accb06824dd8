/**
 * Renames files. On Windows this fails while another program, such as a virus scanner, has a file open: then it is
 * tried again.
 */
import { rename as renameOnce } from 'node:fs/promises'
import { wait } from '../timers.js'

const IN_USE: readonly (string | undefined)[] = ['EACCES', 'EBUSY', 'EPERM']
/** Each pause is twice as long as the previous one. Together they take 1023 ms, as in the core. */
const PAUSES = 10

/** `call` and `platform` are other ones in tests. */
export async function rename(
  from: string,
  to: string,
  { call, platform }: { call: typeof renameOnce; platform: string } = { call: renameOnce, platform: process.platform },
): Promise<void> {
  for (let pause = 0; ; pause++) {
    try {
      return await call(from, to)
    } catch (error) {
      const isInUse = platform === 'win32' && IN_USE.includes((error as NodeJS.ErrnoException).code)
      if (!isInUse || pause === PAUSES) throw error
      await wait(2 ** pause)
    }
  }
}
