/** `durlog serve --access-log`. */
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { startDurlog } from '../fixtures/command.js'
import { durlogServe } from '../fixtures/durlog-serve.js'
import { scratchDir } from '../fixtures/scratch.js'

/** Sends requests whose lines have more bytes than a pipe and the server hold. */
async function sendMany(url: string): Promise<void> {
  for (let sent = 0; sent < 300; sent++) {
    const answer = await fetch(`${url}/missing?${'x'.repeat(8000)}`)
    expect([answer.status, (await answer.json()).error.code]).toEqual([404, 'not-found'])
  }
}

test('each request is a line of JSON on stdout', async () => {
  const { child, url, exited } = await durlogServe(join(scratchDir(), 'streams'), '--access-log')
  const lines: string[] = []
  const ended = once(
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => lines.push(line)),
    'close',
  )
  await (await fetch(`${url}/missing%0A?x`, { headers: { 'x-request-id': 'mine' } })).text()
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  await ended
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ method: 'GET', target: '/missing%0A?x', status: 404, requestId: 'mine' }),
  ])
  expect(lines[0]).toMatch(/"durationMs":\d+(\.\d{1,3})?,/)
})

test('a reader of the log that reads nothing, or has ended, delays no request and not the end of the server', async () => {
  for (const [reads, reason] of [
    [true, 'the reader of stdout is too slow'],
    [false, 'write EPIPE'],
  ] as const) {
    const { child, url, line, exited } = await durlogServe(join(scratchDir(), 'streams'), '--access-log')
    if (!reads) child.stdout?.destroy()
    await sendMany(url)
    expect(await line()).toBe(`durlog: lines of the access log are lost: ${reason}`)
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  }
})

test.skipIf(!existsSync('/dev/full'))('a log on a full disk does not end the server', async () => {
  const args = ['serve', join(scratchDir(), 'streams'), '--port', '0', '--access-log']
  const child = startDurlog(args, { stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'] })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stderr as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  const url = /at (http\S+)$/.exec((await lines.next()).value)?.[1] as string
  await sendMany(url)
  expect((await lines.next()).value).toContain('lines of the access log are lost: ENOSPC')
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})
