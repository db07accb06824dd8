/** Appends several records in order, and none after the first that fails: for streams and the command line. */
import { outcomeOfCall } from '../../errors.js'
import type { Payload } from '../../types.js'
import type { WritePipeline } from './write-pipeline.js'

/** How many records of an append in order were stored. */
export interface Reached {
  /** How many have reached their level, counted from the first. */
  reached: number
  /** The seqs of the first and the last of these; -1 if there are none. */
  firstSeq: number
  lastSeq: number
  /** The error of the record after them. */
  failure: { error: unknown } | undefined
}

/**
 * Appends `list` in order and stops at the first record that fails. `timestamps` holds the records' timestamps. Never rejects.
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
    // The core frames nothing in a call that reports a failed commit. The rest is framed only if none of the framed
    // records failed with that commit.
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
      while (!isFramed() && pipeline.failures === failures) await pipeline.inOrder(frameInTurn)
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
