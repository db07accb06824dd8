/** The rights of a request, and the names of streams that they allow. */
import type { Exchange } from './exchange.js'
import type { ResolvedHandlerOptions } from './options.js'
import { badRequest, Refusal } from './refusal.js'
import type { Call, Service } from './service.js'
import { splitTarget, streamOfPath } from './target.js'
import type { HttpRequest, Rights } from './types.js'

export const ALL: Rights = { read: true, write: true, create: true, delete: true, list: true }
const TENANT = /^[^\s/]{1,256}$/u
const NAME_MAX_BYTES = 1024

/** Gives `call` the rights and the tenant that `authorize` returns. Throws a Refusal of 401 if it returns none. */
export async function authorize(options: ResolvedHandlerOptions, call: Call): Promise<void> {
  const { exchange, name: stream } = call
  const { method, target } = exchange
  const rights = await ask(options, exchange, { method, target, stream })
  if (rights === undefined)
    throw new Refusal(401, 'unauthorized', 'the request has no valid credentials', ['www-authenticate', 'Bearer'])
  call.rights = allowed(options, rights)
  call.scope = scopeOf(rights)
  call.name = nameIn(call.scope, stream)
}

/** The part of `rights` that the handler allows at all. */
export function allowed({ readOnly }: ResolvedHandlerOptions, rights: Rights): Rights {
  return readOnly ? { read: rights.read, list: rights.list, tenant: rights.tenant } : rights
}

async function ask(
  { authorize }: ResolvedHandlerOptions,
  exchange: Exchange,
  asked: Omit<HttpRequest, 'header'>,
): Promise<Rights | undefined> {
  const rights: unknown = await authorize?.({ ...asked, header: (name) => exchange.header(name) })
  return typeof rights === 'object' && rights !== null ? rights : undefined
}

/** The same answer whether or not the stream exists. */
export function need(right: unknown): void {
  if (right !== true) throw new Refusal(403, 'forbidden', 'the request has no right to do this')
}

function scopeOf({ tenant }: Rights): string {
  if (tenant === undefined) return ''
  if (!TENANT.test(tenant)) throw new Error('a tenant is a text of 1 to 256 characters without spaces and slashes')
  return `${tenant}/`
}

function nameIn(scope: string, stream: string): string {
  if (scope === '') return stream
  const name = scope + stream
  if (Buffer.byteLength(name) > NAME_MAX_BYTES) throw badRequest('the name of a stream has 1 to 1024 bytes of UTF-8')
  return name
}

/** The name of the stream at the path `from`, which the request must be allowed to read, in the same tenant. */
export async function sourceOf({ options }: Service, { exchange, rights, scope }: Call, from: string): Promise<string> {
  const { path } = splitTarget(from)
  const stream = streamOfPath(path, options.prefix)
  if (options.authorize !== undefined) {
    const allowed = await ask(options, exchange, { method: 'GET', target: path, stream })
    need(allowed?.read === true && allowed.tenant === rights.tenant)
  }
  return nameIn(scope, stream)
}
