/** Which answers of a server are final, and what they are in durlog's words. */
import { types } from 'node:util'
import { DurlogError } from '../errors.js'
import { ShipConflict } from '../ship/conflict.js'

/** Error codes of JetStream (`err_code`). Any other is passing: an election, a full stream, a server that starts. */
const STREAM_NOT_FOUND = 10059
/** Another message is the last one: by its sequence, or by its id. */
const WRONG_LAST: readonly number[] = [10071, 10164, 10070]
const DUPLICATE_IN_BATCH = 10201
/** Final, with what to do. */
const REFUSED: Readonly<Record<number, string>> = {
  10027: 'the account may have no more streams',
  10052: 'the stream cannot be made like this; make it by hand',
  10054: 'the stream takes no message of this length: raise its max_msg_size',
  10058: 'the stream exists with another configuration',
  10060: 'the subject belongs to another stream: name that one',
  10065: 'another stream takes this subject: name that one, or another subject',
  10074: 'this server is in no cluster: ask for one replica',
  10109: 'the stream is sealed: name another one',
  10122: 'the account allows no stream of this size',
}

/** `{"error": …}` of an answer. */
export interface ApiError {
  err_code?: number
  code?: number
  description?: string
}

/** The record is stored, or was stored and then removed: the server knows its message id. */
export class DuplicateMessage extends Error {}

/** The stream is not there, or not yet there again. */
export class StreamMissing extends Error {}

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
const NO_PERMISSION: readonly string[] = [
  'PermissionViolationError',
  'AuthorizationError',
  'UserAuthenticationExpiredError',
]

/** Codes of Node's TLS: this client does not trust the server, or is itself asked for a certificate. */
const NO_TRUST: readonly unknown[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]

/** What the client threw while `doing`. */
export function fromClientError(error: unknown, doing: string): Error {
  const chain = causesOf(error)
  const own = chain.find((link) => link instanceof DurlogError)
  if (own !== undefined) return own
  const denied = chain.find(({ name }) => NO_PERMISSION.includes(name))
  if (denied !== undefined)
    return refused(
      `${doing}: ${denied.message}; give this user the permissions that docs/SHIPPING.md lists, or other credentials`,
      error,
    )
  const distrusted = chain.find((link) => NO_TRUST.includes((link as NodeJS.ErrnoException).code))
  if (distrusted !== undefined)
    return refused(
      `${doing}: ${distrusted.message}; name the authorities that the server and this client are known by, and the server by the name in its certificate`,
      error,
    )
  const api = chain.find((link) => typeof (link as { apiError?: unknown }).apiError === 'function') as
    | { apiError(): ApiError }
    | undefined
  if (api !== undefined) return fromApiError(api.apiError(), doing)
  return new Error(`${doing}: ${(error as Error).message}`, { cause: error })
}

function causesOf(error: unknown): Error[] {
  const chain: Error[] = []
  for (let link = error; types.isNativeError(link) && chain.length < 8; link = link.cause) chain.push(link)
  return chain
}
