/**
 * The conformance suite of the Durable Streams protocol against `durlog serve`, in three configurations: `npm run
 * test:conformance`. Other than test/http/conformance.test.ts it waits in real time, as a client does.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { runConformanceTests } from '@durable-streams/server-conformance-tests'
import { afterAll, beforeAll, describe, vi } from 'vitest'

const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const TOKEN = '0123456789abcdef0123456789abcdef'

const dir = mkdtempSync(join(tmpdir(), 'durlog-test-'))
const tokens = join(dir, 'tokens')
writeFileSync(tokens, `${TOKEN} rwcdl\n`)
afterAll(() => rmSync(dir, { recursive: true, force: true }))

async function urlOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    const url = /at (http\S+)$/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  throw new Error('the server has not started')
}

/** Requests of the suite get the token, which it cannot send itself. */
function sendToken(): void {
  const send = globalThis.fetch
  vi.stubGlobal('fetch', (input: string | URL | Request, init?: RequestInit) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined))
    headers.set('authorization', `Bearer ${TOKEN}`)
    return send(input, { ...init, headers })
  })
}

describe.each([
  ['default flags', []],
  ['--cors *', ['--cors', '*']],
  ['--token-file', ['--token-file', tokens]],
])('%s', (name, flags) => {
  const config = { baseUrl: '' }
  let child: ChildProcess
  beforeAll(async () => {
    const command = [CLI, 'serve', join(dir, name.replace(/\W/g, '')), '--port', '0', ...flags]
    child = spawn(process.execPath, command, { stdio: ['ignore', 'ignore', 'pipe'] })
    config.baseUrl = await urlOf(child)
    if (name === '--token-file') sendToken()
  })
  afterAll(async () => {
    vi.unstubAllGlobals()
    const exited = once(child, 'exit')
    child.kill()
    await exited
  })
  runConformanceTests(config)
})
