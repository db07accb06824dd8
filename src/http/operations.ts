/** The paths of a server that are not streams: health, metrics, the OpenAPI description and the page. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHandler } from './handler.js'
import { hostOf, isAllowedHost } from './host.js'
import { OPENAPI } from './openapi.js'
import { PAGE } from './page.js'
import { splitTarget } from './target.js'
import type { HandlerOptions } from './types.js'

const TEXT = 'text/plain; version=0.0.4; charset=utf-8'
const PATHS: readonly string[] = ['/healthz', '/metrics', '/openapi.json']

/** Whether the server answers `path` itself, so that it cannot be a stream. */
export function isOperation(path: string): boolean {
  return PATHS.includes(path)
}

/** Returns a function that answers a request if its path is one of these, and otherwise returns false. */
export function operationsOf(
  handler: () => ServerHandler,
  { authorize, hosts, prefix = '/' }: HandlerOptions,
  ui: boolean,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const page = ui ? pageOf() : undefined
  return (request, response) => {
    const { path } = splitTarget(request.url ?? '/')
    if (!isOperation(path) && (path !== prefix || page === undefined)) return false
    // The handler refuses it.
    if (!isAllowedHost(hostOf(request), hosts)) return false
    const { method } = request
    if (method === 'OPTIONS') return false
    const send = (status: number, type: string, body: string, extra: Record<string, string> = {}): true => {
      const headers = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', ...extra }
      response.writeHead(status, { ...headers, 'content-type': type, 'content-length': Buffer.byteLength(body) })
      response.end(method === 'HEAD' ? undefined : body)
      return true
    }
    // A stream of this name could be written, but not read.
    if (method !== 'GET' && method !== 'HEAD')
      return send(405, TEXT, 'this path is not a stream: choose another name\n', { allow: 'GET, HEAD' })
    if (path === '/openapi.json') return send(200, 'application/json', OPENAPI)
    if (path === prefix && page !== undefined)
      return send(200, 'text/html; charset=utf-8', page.html, { 'content-security-policy': page.policy })
    const answer = async (): Promise<void> => {
      if (path === '/metrics') {
        if (await mayRead(request, authorize)) send(200, TEXT, await handler().metrics())
        else send(403, TEXT, 'forbidden\n')
      } else {
        const problem = await handler().problem()
        if (problem === undefined) send(200, TEXT, 'ok\n')
        else send(503, TEXT, `failed: ${problem}\n`)
      }
    }
    void answer()
    return true
  }
}

/** Whether a request may read the metrics: they are only for requests that may list all streams. */
async function mayRead(request: IncomingMessage, authorize: HandlerOptions['authorize']): Promise<boolean> {
  if (authorize === undefined) return true
  const header = (name: string): string | undefined => request.headers[name] as string | undefined
  try {
    const { list, tenant } = (await authorize({ method: 'GET', target: '/metrics', stream: '', header })) || {}
    return list === true && tenant === undefined
  } catch {
    return false
  }
}

/** Returns the page and a policy that allows only its own script and style. */
function pageOf(): { html: string; policy: string } {
  const html = PAGE
  const hashOf = (tag: string): string => {
    const content = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(html)?.[1] ?? ''
    return `'sha256-${createHash('sha256').update(content).digest('base64')}'`
  }
  const own = `script-src ${hashOf('script')}; style-src ${hashOf('style')}; connect-src 'self'`
  return {
    html,
    policy: `default-src 'none'; ${own}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  }
}
