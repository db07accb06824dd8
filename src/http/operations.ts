/** The paths of a server that are not streams: health, metrics, the OpenAPI description and the page. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { OPENAPI } from './openapi.js'
import { PAGE } from './page.js'
import { splitTarget } from './target.js'
import type { HandlerOptions, Rights, StreamsHandler } from './types.js'

const TEXT = 'text/plain; version=0.0.4; charset=utf-8'

/** Returns a function that answers a request if its path is one of these, and otherwise returns false. */
export function operationsOf(
  handler: StreamsHandler,
  { authorize }: HandlerOptions,
  ui: boolean,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const page = ui ? pageOf() : undefined
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false
    const { path } = splitTarget(request.url ?? '/')
    const send = (status: number, type: string, body: string, extra: Record<string, string> = {}): true => {
      const headers = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', ...extra }
      response.writeHead(status, { ...headers, 'content-type': type, 'content-length': Buffer.byteLength(body) })
      response.end(request.method === 'HEAD' ? undefined : body)
      return true
    }
    if (path === '/healthz')
      return send(handler.isHealthy() ? 200 : 503, TEXT, handler.isHealthy() ? 'ok\n' : 'failed\n')
    if (path === '/openapi.json') return send(200, 'application/json', OPENAPI)
    if (path === '/' && page !== undefined)
      return send(200, 'text/html; charset=utf-8', page.html, { 'content-security-policy': page.policy })
    if (path !== '/metrics') return false
    const header = (name: string): string | undefined => request.headers[name] as string | undefined
    const asked = { method: 'GET', target: '/metrics', stream: '', header }
    void Promise.resolve(authorize === undefined ? { list: true } : authorize(asked))
      // Metrics are only for requests that may list all streams.
      .then(
        (rights: Rights | undefined) => rights?.list === true && rights.tenant === undefined,
        () => false,
      )
      .then(async (allowed) => (allowed ? send(200, TEXT, await handler.metrics()) : send(403, TEXT, 'forbidden\n')))
    return true
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
