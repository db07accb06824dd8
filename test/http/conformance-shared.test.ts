/** The conformance suite of the Durable Streams protocol, against two servers of one folder that neither owns, in turn. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runConformanceTests } from '@durable-streams/server-conformance-tests'
import { afterAll, beforeAll, describe } from 'vitest'
import { type StreamsHandler, streamsHandler } from '../../src/http/index.js'
import { openStreams, type Streams } from '../../src/streams/index.js'

const config = { baseUrl: '', longPollTimeoutMs: 500 }

let dir: string
let server: Server
const opened: Streams<unknown>[] = []

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'durlog-test-'))
  // The first one is the owner.
  for (let at = 0; at < 3; at++) opened.push(await openStreams(dir))
  const options = { longPollMs: config.longPollTimeoutMs, cors: '*' }
  const handlers = opened.slice(1).map((streams) => streamsHandler(streams, options))
  let requests = 0
  server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    const handler = handlers[requests++ % handlers.length] as StreamsHandler
    handler(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  config.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  for (const streams of opened.reverse()) await streams.close()
  rmSync(dir, { recursive: true, force: true })
})

// Its tests of expiry wait for real seconds: a request that a busy machine delays comes too late.
describe('the suite', { retry: 3 }, () => runConformanceTests(config))
