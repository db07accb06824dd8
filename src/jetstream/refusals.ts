/** Decides which answers of a server are final, and turns them into errors of durlog. */
import { types } from 'node:util'
import { DurlogError } from '../errors.js'
import { ShipConflict } from '../ship/conflict.js'

/** Error codes of JetStream (`err_code`). A code that is not listed here passes: an election, a full stream, a starting server. */
const STREAM_NOT_FOUND = 10059
/** Another message is the last one: by its sequence, or by its id. */
const WRONG_LAST: readonly number[] = [10071, 10164, 10070]
const DUPLICATE_IN_BATCH = 10201
/** Final, with the remedy. */
const REFUSED: Readonly<Record<number, string>> = {
  10027: 'the account may have no more streams: delete one, or raise the limit',
  10052: 'the stream cannot be created with this configuration: create it by hand',
  10054: 'the stream takes no message of this length: raise its max_msg_size',
  10058: 'a stream of this name exists with another configuration',
  10060: 'the subject belongs to another stream: use that stream',
  10065: 'another stream takes this subject: use that stream, or another subject',
  10074: 'this server is in no cluster: use one replica',
  10109: 'the stream is sealed: use another stream',
  10122: 'the account allows no stream of this size',
  10169: 'the stream holds counters (allow_msg_counter) and takes no records: use another stream',
}

/** `{"error": …}` of an answer. */
export interface ApiError {
  err_code?: number
  code?: number
  description?: string
}

/** The server knows the message id: the record is stored, or was stored and then removed. */
export class DuplicateMessage extends Error {}

/** The server does not know the stream, or does not know it yet because it is starting. */
export class StreamMissing extends Error {}

/** The server did not answer in time: it may be stopped or unreachable. */
export class Unanswered extends Error {}

export function fromApiError(error: ApiError, doing: string): Error {
  const { err_code: code = 0, description = 'no reason given' } = error
  const text = `${doing}: ${description} (${code})`
  if (WRONG_LAST.includes(code)) return new ShipConflict(text)
  if (code === DUPLICATE_IN_BATCH) return new DuplicateMessage(text)
  if (code === STREAM_NOT_FOUND) return new StreamMissing(text)
  const advice = REFUSED[code]
  return advice === undefined ? new Error(text) : refused(`${text}; ${advice}`)
}

export function refused(message: string, cause?: unknown): DurlogError {
  return new DurlogError('ERR_DURLOG_DESTINATION_REFUSED', message, { cause })
}

/** Names of the client's errors. Its classes are not compared: an application may have a second copy of them. */
const NO_PERMISSION: readonly string[] = ['PermissionViolationError', 'AuthorizationError']
const TIMEOUT = 'TimeoutError'

/** Codes of Node's TLS for a certificate or a key that one of the two sides does not accept. */
const NO_TRUST =
  /CERT|^(HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$|^UNABLE_TO_|^ERR_(OSSL|SSL|TLS)_/
/** The other side went away during the handshake. */
const HANDSHAKE_LOST = /UNEXPECTED_EOF|ALERT_INTERNAL_ERROR|ALERT_CLOSE_NOTIFY/

/** The error of a target for an error that the client or Node threw while `doing`. */
export function fromClientError(error: unknown, doing: string): Error {
  const chain = causesOf(error)
  const own = chain.find((link) => link instanceof DurlogError || link instanceof Unanswered)
  if (own !== undefined) return own
  const denied = chain.find(({ name }) => NO_PERMISSION.includes(name))
  if (denied !== undefined)
    return refused(
      `${doing}: ${denied.message}; give this user the permissions that docs/SHIPPING.md lists, or use other credentials`,
      error,
    )
  const distrusted = chain.find((link) => isTlsRefusal((link as NodeJS.ErrnoException).code))
  if (distrusted !== undefined)
    return refused(
      `${doing}: ${distrusted.message}; check the validity, the names and the authority of both certificates, and that the client's key belongs to its certificate`,
      error,
    )
  const api = chain.find((link) => typeof (link as { apiError?: unknown }).apiError === 'function') as
    | { apiError(): ApiError }
    | undefined
  if (api !== undefined) return fromApiError(api.apiError(), doing)
  const text = `${doing}: ${(error as Error).message}`
  if (chain.some(({ name }) => name === TIMEOUT)) return new Unanswered(text, { cause: error })
  return new Error(text, { cause: error })
}

function isTlsRefusal(code: unknown): boolean {
  return typeof code === 'string' && NO_TRUST.test(code) && !HANDSHAKE_LOST.test(code)
}

function causesOf(error: unknown): Error[] {
  const chain: Error[] = []
  for (let link = error; types.isNativeError(link) && chain.length < 8; link = link.cause) chain.push(link)
  return chain
}
