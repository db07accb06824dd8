import { isCode } from '../../errors.js'
import { LEVELS } from '../../native/levels.js'
import type { WritePipeline } from './write-pipeline.js'

/**
 * Makes an append with an expected seq. If another seq is due, rejects only when the records before that seq can be
 * read, because the caller may read them to decide again.
 */
export async function decided<T>(pipeline: WritePipeline, append: () => Promise<T>): Promise<T> {
  try {
    return await append()
  } catch (error) {
    // If the records cannot be stored, they need not be read.
    if (isCode(error, 'ERR_DURLOG_SEQ_CONFLICT')) await pipeline.sync(LEVELS.memory).catch(() => {})
    throw error
  }
}
