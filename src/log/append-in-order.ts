/** Appends for a stream: several records, and none after the first that fails. */
import { outcomeOfCall } from '../errors.js'
import type { AppendCall } from '../options/call-options.js'
import type { Payload } from '../types.js'
import type { WritePipeline } from './write-pipeline.js'

/** How far an append of several records in order came. */
export interface Reached {
  /** How many have reached their level, counted from the first. */
  reached: number
  /** The seq of the last of these; -1 without any. */
  lastSeq: number
  /** The error of the next one. */
  failure: { error: unknown } | undefined
}

/** Appends `list` in order and nothing after the first that fails. Never rejects. */
export async function appendInOrder(
  pipeline: WritePipeline,
  list: readonly Payload[],
  level: number,
): Promise<Reached> {
  const call: AppendCall = { level, time: undefined, expectedSeq: undefined }
  let reached = 0
  let lastSeq = -1
  while (reached < list.length) {
    const framed: Promise<number>[] = []
    const { failures } = pipeline
    // The core frames nothing in a call that reports a failed commit. The rest is framed only if none of the framed
    // records failed with that commit.
    const frameRest = (): Promise<void> | undefined => {
      for (let next = reached + framed.length; next < list.length; next++) {
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
      } catch (error) {
        return { reached, lastSeq, failure: { error } }
      }
      reached++
    }
    if (failure !== undefined) return { reached, lastSeq, failure }
  }
  return { reached, lastSeq, failure: undefined }
}
