/** The answer of the server to a published message. */
import type { Msg } from '@nats-io/transport-node'
import { isWhole } from '../options/checks.js'
import { type ApiError, fromApiError } from './refusals.js'

export interface PubAck {
  /** The sequence of the message in the stream. */
  seq: number
  /** The number of messages of a batch. */
  count: number | undefined
  /** The server had received the message before, and has not stored it again. */
  duplicate: boolean
}

/** Throws the error that the answer reports, and an Error if it is no acknowledgement. `doing` describes the action. */
export function pubAckIn(answer: Msg, doing: string): PubAck {
  if (answer.headers?.code === 503) throw new Error(`${doing}: no server currently responds for this subject`)
  let content: unknown
  try {
    content = answer.json()
  } catch {
    // As another content.
  }
  const { error, seq, count, duplicate } = Object(content) as Partial<PubAck> & { error?: ApiError }
  if (error !== undefined) throw fromApiError(Object(error) as ApiError, doing)
  // Sequences count from 1; a refusal has the sequence 0.
  if (!isWhole(seq) || seq === 0)
    throw new Error(`${doing}: the server has answered with something other than an acknowledgement`)
  return { seq, count, duplicate: duplicate === true }
}
