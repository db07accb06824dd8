/** Appends several records in order, and none after the first that fails: for streams and the command line. */
import { outcomeOfCall } from '../errors.js'
import type { AppendCall } from '../options/call-options.js'
import type { Payload } from '../types.js'
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
    // The core frames nothing in a call that reports a failed commit. The rest is framed only if none of the framed
    // records failed with that commit.
    const frameRest = (): Promise<void> | undefined => {
      for (let next = reached + framed.length; next < list.length; next++) {
        const call: AppendCall = { level, timestamp: timestamps[next], expectedSeq: undefined }
        const promise = pipeline.frame(list[next] as Payload, call)
        if (promise === undefined) return pipeline.failures === failures ? undefined : Promise.resolve()
        promise.catch(() => {}) // awaited below
        framed.push(promise)
      }
      return Promise.resolve()
    }
    let failure: { error: unknown } | undefined
    try {
      await pipeline.inOrder(frameRest)
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
