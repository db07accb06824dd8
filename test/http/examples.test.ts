/** The examples of streams over HTTP. test/http/kill.test.ts runs the Python example. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { missingChromium, Page } from '../fixtures/chromium.js'
import { scratchDir } from '../fixtures/scratch.js'

function start(name: string, ...args: string[]): ChildProcess {
  const path = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url))
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Starts the chat server. Resolves with its port when it listens. */
async function startChat(dir: string, port: number, tokenMs: number): Promise<{ child: ChildProcess; port: number }> {
  const child = start('ai-chat.mjs', dir, String(port), String(tokenMs))
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')
  return { child, port: Number(line.split(' ').at(-1)) }
}

test.skipIf(missingChromium !== '')(
  `after a reload of the page and a kill of the server, an AI chat shows each token once ${missingChromium}`,
  async () => {
    const dir = join(scratchDir(), 'chats')
    const first = await startChat(dir, 0, 500)
    const page = await Page.open(`http://127.0.0.1:${first.port}/#7`)
    const shown = () => page.value<string | undefined>("document.querySelector('main')?.textContent")
    const chats = `http://127.0.0.1:${first.port}/chats/7`
    await expect.poll(async () => (await fetch(chats)).status).toBe(200)
    await page.value("document.forms[0].text.value = 'hello'; document.forms[0].requestSubmit()")
    await expect.poll(shown).toContain('> hello\nYou wrote ')
    await page.reload()
    await expect.poll(shown).toContain('> hello\nYou wrote ')
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    await startChat(dir, first.port, 1)
    const answer =
      'You wrote “hello”. This answer is stored word by word, so that nothing of it is lost and nothing comes twice.'
    await expect.poll(shown).toBe(`> hello\n${answer}\n`)
    await page.reload()
    await expect.poll(shown).toBe(`> hello\n${answer}\n`)
  },
)

test('after a restart, a client of TanStack AI receives the complete chat', async () => {
  const dir = join(scratchDir(), 'chats')
  const run = () => text(start('tanstack-chat.mjs', dir).stdout as NodeJS.ReadableStream)
  const turn = 'user: hello\nassistant: You wrote hello\n'
  expect(await run()).toBe(`You wrote hello\n${turn}`)
  expect(await run()).toBe(`You wrote hello\n${turn}${turn}`)
})
