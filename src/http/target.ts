/** Parses the path and the query of a request. */
import { checkStreamName } from '../streams/port/file-name.js'
import { badRequest, HttpError, notFound } from './http-error.js'

export interface Target {
  path: string
  query: string
}

/**
 * All other characters must be percent-encoded (RFC 9112, 3.2). A client does not send `#` and the fragment after it.
 */
const ENCODED = /^[!"$-~]*$/

/** Throws an HttpError with status 400 unless `target` is percent-encoded. */
export function checkEncoded(target: string): void {
  if (!ENCODED.test(target)) throw badRequest('the URL has a fragment, or is not percent-encoded: write # as %23')
}

/** `target` is a path with a query, as in a request line, or a whole URL. */
export function splitTarget(target: string): Target {
  const rooted = target.startsWith('/') ? target : target.replace(/^[a-z]+:\/\/[^/?]*/i, '') || '/'
  const mark = rooted.indexOf('?')
  return mark === -1 ? { path: rooted, query: '' } : { path: rooted.slice(0, mark), query: rooted.slice(mark + 1) }
}

/** Returns the name of the stream at `path`. Throws an HttpError. */
export function streamOfPath(path: string, prefix: string): string {
  if (!path.startsWith(prefix)) throw notFound()
  const escaped = path.slice(prefix.length)
  if (escaped === '') throw notFound()
  const name = escaped.includes('%') ? unescaped(escaped) : escaped
  if (name === '__ds' || name.startsWith('__ds/'))
    throw new HttpError(501, 'not-implemented', 'this server does not support subscriptions')
  try {
    checkStreamName(name)
  } catch {
    throw badRequest('the name of a stream must have 1 to 1024 bytes in UTF-8')
  }
  return name
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw badRequest('the URL is not percent-encoded UTF-8')
  }
}

/** Returns the values of the query parameter `name`. */
export function parameters(query: string, name: string): string[] {
  if (!query.includes(name)) return []
  const values: string[] = []
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=')
    const key = equals === -1 ? pair : pair.slice(0, equals)
    if (key === name) values.push(equals === -1 ? '' : unescaped(pair.slice(equals + 1).replaceAll('+', ' ')))
  }
  return values
}
