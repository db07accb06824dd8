/** Compares a log with its cuts, for code that has other evidence of the log's records, or needs none. */
import type { ReadableLog } from './index.js'
import * as native from './native/uncut.js'

/** Whether no record below `end` was cut from `log` since it had this generation. */
export function isUncut({ dir, uuid }: ReadableLog, generation: number, end: number): Promise<boolean> {
  return native.isUncut(dir, { uuid, generation, end })
}
