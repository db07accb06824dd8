/**
 * Appends several records in order, and nothing after the first record that fails: for streams and the command line.
 */
import { outcomeOfCall } from '../../errors.js'
import type { Payload } from '../../types.js'
import type { WritePipeline } from './write-pipeline.js'

/** The result of `appendInOrder`. */
export interface Reached {
  /** The number of records, counted from the first, that have reached their level. */
  reached: number
  /** The seqs of the first and the last record that have reached their level; -1 if none has. */
  firstSeq: number
  lastSeq: number
  /** The error of the first record that has not reached its level; undefined if all have. */
  failure: { error: unknown } | undefined
}

/**
 * Appends `list` in order and stops at the first record that fails. `timestamps` holds the records' timestamps. Never
 * rejects.
 */
export async function appendInOrder(
  pipeline: WritePipeline,
  list: readonly Payload[],
  level: number,
  timestamps: readonly (number | undefined)[] = [],
): Promise<Reached> {
  let reached = 0
  let firstSeq = -1
  let lastSeq = -1
  while (reached < list.length) {
    const framed: Promise<number>[] = []
    const { failures } = pipeline
    const isFramed = (): boolean => reached + framed.length === list.length
    // A call that reports a failed commit frames nothing. In that case the remaining records are framed only after all
    // records that were framed before have reached their level.
    const frameInTurn = (): Promise<void> | undefined => {
      while (!isFramed()) {
        const next = reached + framed.length
        const data = list[next] as Payload
        const promise = pipeline.frame(data, { level, timestamp: timestamps[next], expectedSeq: undefined })
        if (promise === undefined) return pipeline.failures === failures ? undefined : Promise.resolve()
        promise.catch(() => {}) // awaited below
        framed.push(promise)
        const turn = pipeline.turnAfter(data.length)
        if (turn !== undefined) return turn
      }
      return Promise.resolve()
    }
    let failure: { error: unknown } | undefined
    try {
      while (!isFramed() && pipeline.failures === failures) await pipeline.inOrder(frameInTurn, 'append')
    } catch (error) {
      failure = { error: outcomeOfCall(error) }
    }
    for (const promise of framed) {
      try {
        lastSeq = await promise
        if (firstSeq === -1) firstSeq = lastSeq
      } catch (error) {
        return { reached, firstSeq, lastSeq, failure: { error } }
      }
      reached++
    }
    if (failure !== undefined) return { reached, firstSeq, lastSeq, failure }
  }
  return { reached, firstSeq, lastSeq, failure: undefined }
}
