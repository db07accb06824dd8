/** The rights of a request, and the names of the streams that it may use. */
import type { Exchange } from './exchange.js'
import { badRequest, HttpError } from './http-error.js'
import type { ResolvedHandlerOptions } from './options.js'
import type { HttpCall, Service } from './service.js'
import { checkEncoded, splitTarget, streamOfPath } from './target.js'
import type { HttpRequest, Rights } from './types.js'

export const ALL: Rights = { read: true, write: true, create: true, delete: true, list: true }
const TENANT = /^[^\s/]{1,256}$/u
const NAME_MAX_BYTES = 1024

/**
 * Sets the rights and the tenant of `call` as `authorize` returns them. Throws an HttpError with status 401 if it
 * returns none.
 */
export async function authorize(options: ResolvedHandlerOptions, call: HttpCall): Promise<void> {
  const { exchange, name: stream } = call
  const { method, target } = exchange
  const rights = await askRights(options, exchange, { method, target, stream })
  if (rights === undefined)
    throw new HttpError(401, 'unauthorized', 'the request has no valid credentials', ['www-authenticate', 'Bearer'])
  call.rights = allowed(options, rights)
  exchange.scope = scopeOf(rights)
  call.name = nameIn(exchange.scope, stream)
}

/** Returns `rights` without those that the handler never grants. */
export function allowed({ readOnly }: ResolvedHandlerOptions, rights: Rights): Rights {
  return readOnly ? { read: rights.read, list: rights.list, tenant: rights.tenant } : rights
}

async function askRights(
  { authorize }: ResolvedHandlerOptions,
  exchange: Exchange,
  request: Omit<HttpRequest, 'header'>,
): Promise<Rights | undefined> {
  const rights: unknown = await authorize?.({ ...request, header: (name) => exchange.header(name) })
  return typeof rights === 'object' && rights !== null ? rights : undefined
}

/** Throws an HttpError with status 403. The answer does not depend on whether the stream exists. */
export function need(right: unknown): void {
  if (right !== true)
    throw new HttpError(403, 'forbidden', 'the credentials do not allow this request, or the server is read-only')
}

function scopeOf({ tenant }: Rights): string {
  if (tenant === undefined) return ''
  if (typeof tenant !== 'string' || !TENANT.test(tenant))
    throw new Error('authorize must return no tenant, or one of 1 to 256 characters without spaces and slashes')
  return `${tenant}/`
}

function nameIn(scope: string, stream: string): string {
  if (scope === '') return stream
  const name = scope + stream
  if (Buffer.byteLength(name) > NAME_MAX_BYTES)
    throw badRequest('the name of a stream, with its tenant, must have 1 to 1024 bytes in UTF-8')
  return name
}

/**
 * Returns the name of the stream at the path `from`. Throws an HttpError unless the request may read it and it belongs
 * to the same tenant.
 */
export async function sourceOf(service: Service, call: HttpCall, from: string): Promise<string> {
  checkEncoded(from)
  const { path } = splitTarget(from)
  const stream = streamOfPath(path, call.prefix)
  await needRead(service, call, path, stream)
  return nameIn(call.exchange.scope, stream)
}

/** Throws an HttpError with status 403 unless the request may read `stream`, which is at `path`, as the same tenant. */
export async function needRead(
  { options }: Service,
  { exchange, rights }: HttpCall,
  path: string,
  stream: string,
): Promise<void> {
  if (options.authorize === undefined) return
  const allowed = await askRights(options, exchange, { method: 'GET', target: path, stream })
  need(allowed?.read === true && allowed.tenant === rights.tenant)
}
