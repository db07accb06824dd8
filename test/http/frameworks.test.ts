/** The handler in applications of other frameworks, as docs/SERVE.md describes. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import compression from 'compression'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { expect, onTestFinished, test } from 'vitest'
import { type StreamsHandler, streamsHandler } from '../../src/http/index.js'
import type { Streams } from '../../src/streams/index.js'
import { scratchStreams } from '../fixtures/streams.js'

const JSON_TYPE = { 'content-type': 'application/json' }

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Starts an application that has the streams below /v1/streams/, and another route. Returns its URL. */
type Start = (streams: Streams<unknown>) => Promise<string>

/** Both versions of Express have this part. */
interface Application {
  use(...handlers: unknown[]): unknown
  get(path: string, route: (request: unknown, response: { send(text: string): unknown }) => unknown): unknown
}

const ofExpress =
  (make: () => unknown, add: (app: Application, streams: Streams<unknown>) => void): Start =>
  async (streams) => {
    const app = make() as Application & RequestListener
    add(app, streams)
    app.get('/other', (_, response) => response.send('other'))
    app.get('/v1/streams/other', (_, response) => response.send('other below'))
    return listen(app)
  }

const byPrefix = (app: Application, streams: Streams<unknown>): void =>
  void app.use(streamsHandler(streams, { prefix: '/v1/streams/' }))
const mounted = (app: Application, streams: Streams<unknown>): void =>
  void app.use('/v1/streams', streamsHandler(streams))

function ofWeb(handler: StreamsHandler): RequestListener {
  const app = new Hono()
  app.all('/v1/streams/*', (context) => handler.fetch(context.req.raw))
  app.get('/other', (context) => context.text('other'))
  // A bridge as small as this test needs. Applications use @hono/node-server.
  return async (request, response) => {
    const { method = 'GET', url = '/', headers } = request
    const init = { method, headers: headers as Record<string, string> }
    const hasBody = method !== 'GET' && method !== 'HEAD'
    const body = hasBody ? { body: request as unknown as BodyInit, duplex: 'half' } : {}
    const answer = await app.fetch(new Request(`http://${headers.host}${url}`, { ...init, ...body } as RequestInit))
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    for await (const part of (answer.body ?? []) as AsyncIterable<Uint8Array>) response.write(part)
    response.end()
  }
}

const FRAMEWORKS: [name: string, Start][] = [
  ['Express 5, with a prefix', ofExpress(express, byPrefix)],
  ['Express 5, mounted', ofExpress(express, mounted)],
  ['Express 4, with a prefix', ofExpress(express4, byPrefix)],
  ['Express 4, mounted', ofExpress(express4, mounted)],
  [
    'Fastify',
    async (streams) => {
      const handler = streamsHandler(streams, { prefix: '/v1/streams/' })
      const app = fastify()
      app.get('/other', async () => 'other')
      app.register(async (scope) => {
        scope.removeAllContentTypeParsers()
        scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
        scope.all('/v1/streams/*', (request, reply) => {
          reply.hijack()
          handler(request.raw, reply.raw)
        })
      })
      onTestFinished(() => app.close())
      return app.listen({ port: 0, host: '127.0.0.1' })
    },
  ],
  ['Hono', async (streams) => listen(ofWeb(streamsHandler(streams, { prefix: '/v1/streams/' })))],
  [
    'Koa',
    async (streams) => {
      const handler = streamsHandler(streams, { prefix: '/v1/streams/' })
      const app = new Koa()
      app.use((context, next) => {
        if (!context.path.startsWith('/v1/streams/')) return next()
        context.respond = false
        return handler(context.req, context.res)
      })
      app.use((context) => {
        context.body = 'other'
      })
      return listen(app.callback())
    },
  ],
]

test.each(FRAMEWORKS)('%s serves streams below a path, and its own routes', async (_, start) => {
  const { streams } = await scratchStreams()
  const url = await start(streams)
  const source = `${url}/v1/streams/a%2Fb`
  const created = await fetch(source, { method: 'PUT', headers: JSON_TYPE, body: '[1]' })
  expect([created.status, created.headers.get('location')]).toEqual([201, source])
  expect((await fetch(source, { method: 'POST', headers: JSON_TYPE, body: '2' })).status).toBe(204)
  expect(await (await fetch(source)).json()).toEqual([1, 2])
  const fork = { 'stream-forked-from': '/v1/streams/a%2Fb' }
  expect((await fetch(`${url}/v1/streams/fork`, { method: 'PUT', headers: fork })).status).toBe(201)
  expect((await (await fetch(`${url}/v1/streams/__ds/streams`)).json()).streams).toHaveLength(2)
  const poll = fetch(`${source}?offset=now&live=long-poll`)
  await streams.stream('a/b').end()
  expect((await poll).headers.get('stream-closed')).toBe('true')
  expect((await fetch(`${url}/v1/streams/none`, { method: 'POST', headers: JSON_TYPE, body: '2' })).status).toBe(404)
  expect(await (await fetch(`${url}/other`)).text()).toBe('other')
})

test.each([
  ['5', express],
  ['4', express4],
] as const)('Express %s continues with its own routes if the stream does not exist', async (_, make) => {
  const { streams } = await scratchStreams()
  const url = await ofExpress(make, (app, served) => void app.use(streamsHandler(served)))(streams)
  expect(await (await fetch(`${url}/other`)).text()).toBe('other')
  const below = await ofExpress(make, byPrefix)(streams)
  expect(await (await fetch(`${below}/v1/streams/other`)).text()).toBe('other below')
  await streams.stream('other').append(1)
  expect(await (await fetch(`${url}/other`)).json()).toEqual([1])
})

test('events pass a compressing middleware at once', async () => {
  const { streams } = await scratchStreams()
  const app = express()
  app.use(compression({ threshold: 0 }))
  app.use(streamsHandler(streams))
  const url = await listen(app)
  await streams.stream('s').append(1)
  const headers = { 'accept-encoding': 'gzip' }
  const events = await fetch(`${url}/s?offset=-1&live=sse`, { headers })
  const first = await events.body?.getReader().read()
  expect(events.headers.get('content-encoding')).toBe(null)
  expect(Buffer.from(first?.value ?? '').toString()).toContain('data:[1]')
})
