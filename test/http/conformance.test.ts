/** The conformance suite of the Durable Streams protocol. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runConformanceTests } from '@durable-streams/server-conformance-tests'
import { afterAll, beforeAll, describe } from 'vitest'
import { type Served, serveStreams } from '../fixtures/http.js'

const config = { baseUrl: '', longPollTimeoutMs: 500 }

let served: Served
let dir: string

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'durlog-test-'))
  served = await serveStreams({ longPollMs: config.longPollTimeoutMs, cors: '*' }, dir)
  config.baseUrl = served.url
})

afterAll(async () => {
  await served.stop()
  rmSync(dir, { recursive: true, force: true })
})

// Its tests of expiry wait for real seconds: a request that a busy machine delays comes too late.
describe('the suite', { retry: 3 }, () => runConformanceTests(config))
