/** Decides which errors of a server are final, and converts them to errors of durlog. */
import { types } from 'node:util'
import { DurlogError } from '../errors.js'
import { ShipConflict } from '../ship/conflict.js'

// The error codes of JetStream (`err_code`) that need a specific reaction. After any other code the request is
// repeated, because the cause may be temporary, such as an election, a full stream or a starting server.
const STREAM_NOT_FOUND = 10059
/** The codes for an expected last sequence or message id that is not the actual one. */
const WRONG_LAST: readonly number[] = [10071, 10164, 10070]
const DUPLICATE_IN_BATCH = 10201
/** The codes of final errors, each with the remedy. */
const REFUSED: Readonly<Record<number, string>> = {
  10027: 'the account has reached its limit of streams: delete a stream, or raise the limit',
  10052: 'the stream cannot be created with this configuration: create it by hand',
  10054: 'the stream does not accept a message of this length: raise its max_msg_size',
  10058: 'a stream of this name exists with another configuration',
  10060: 'the subject belongs to another stream: use that stream',
  10065: 'another stream stores this subject: use that stream, or another subject',
  10074: 'this server is not part of a cluster: use one replica',
  10109: 'the stream is sealed: use another stream',
  10122: 'the account does not allow a stream of this size',
  10169: 'the stream holds counters (allow_msg_counter) and does not accept records: use another stream',
}

/** The field `error` of a response. */
export interface ApiError {
  err_code?: number
  code?: number
  description?: string
}

/** The server has already received a message with this id: the message is stored, or was stored and then removed. */
export class DuplicateMessage extends Error {}

/** The server does not know the stream: there is none, or the server is still starting. */
export class StreamMissing extends Error {}

/** The server did not respond in time: it may be stopped or unreachable. */
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

/**
 * Names of the client's errors. The classes are not compared, because an application may have loaded a second copy of
 * the client.
 */
const NO_PERMISSION: readonly string[] = ['PermissionViolationError', 'AuthorizationError']
const TIMEOUT = 'TimeoutError'

/** Codes of Node's TLS errors for a certificate or a key that one of the two sides does not accept. */
const NO_TRUST =
  /CERT|^(HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$|^UNABLE_TO_|^ERR_(OSSL|SSL|TLS)_/
/** Codes of Node's TLS errors for a connection that was lost during the handshake. */
const HANDSHAKE_LOST = /UNEXPECTED_EOF|ALERT_INTERNAL_ERROR|ALERT_CLOSE_NOTIFY/

/** Converts an error of the client or of Node to an error of a ShipTarget. `doing` describes the action that failed. */
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
