/** Splits a JSON body into messages without changing the text of their values. */

import {
  JSON_DEPTH_MAX,
  type JsonSplit,
  SPLIT_AT_ONCE_BYTES,
  splitMessages,
  splitMessagesLater,
} from '../options/json-text.js'
import { PackedValues, type SentValues } from '../streams/port/encoding.js'
import { badRequest, HttpError } from './http-error.js'

/** A limit, because a message takes many times the memory and the time of its bytes. */
const MAX_MESSAGES = 100_000

/**
 * Returns the messages of a body: the elements of an array, or its single value. Each is one line: line breaks in
 * `body` become spaces. Throws an HttpError with status 400 or 413.
 */
export function messagesOf(body: Buffer): SentValues {
  return messagesAt(body, splitMessages(body, MAX_MESSAGES))
}

/** Like `messagesOf`, on another thread if the body is long. */
export async function messagesOfLong(body: Buffer): Promise<SentValues> {
  if (body.length <= SPLIT_AT_ONCE_BYTES) return messagesOf(body)
  return messagesAt(body, await splitMessagesLater(body, MAX_MESSAGES))
}

function messagesAt(body: Buffer, places: JsonSplit): SentValues {
  if (places === 'invalid') throw badRequest('the body is not valid JSON in UTF-8')
  if (places === 'too deep')
    throw badRequest(`a message must have at most ${JSON_DEPTH_MAX} arrays and objects nested in each other`)
  if (places === 'too many')
    throw new HttpError(413, 'too-large', `a body must have at most ${MAX_MESSAGES} messages: split it`)
  return new PackedValues('json', body, places).sent
}
