/** Signals during a command that runs for a while. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startDurlog } from '../fixtures/command.js'
import { openUntilDone, scratchDir, texts } from '../fixtures/scratch.js'
import { scratchStreams } from '../fixtures/streams.js'

const APPEND = 'append ended by %s reports exactly the records that it has stored'
test.skipIf(process.platform === 'win32').each(['SIGINT', 'SIGTERM'] as const)(APPEND, async (signal) => {
  const dir = join(scratchDir(), 'log')
  const child = startDurlog(['append', dir])
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (chunk: Buffer) => {
      output[name] += chunk.toString()
    })
  child.stdin?.write('a\nb\n\n')
  // The warning about the blank line is printed after both records have been read.
  await new Promise((resolve) => child.stderr?.once('data', resolve))
  child.kill(signal)
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(130)
  expect(output.stdout).toMatch(/^appended 2 records, seq 0 to 1, at sync/)
  expect(output.stderr).toContain(`durlog: INTERRUPTED: ended by ${signal}`)
  const log = await openUntilDone(dir)
  expect(await texts(log.read())).toEqual(['a', 'b'])
})

test.skipIf(process.platform === 'win32')(
  'append to a stream reports exactly the records that it has stored',
  async () => {
    const { dir, streams } = await scratchStreams({ exclusive: false })
    const child = startDurlog(['streams', dir, 'append', 's'])
    const output = Promise.all([text(child.stdout as Readable), text(child.stderr as Readable)])
    child.stdin?.write('1\n2\n')
    for await (const { value } of streams.stream('s').read({ follow: true })) if (value === 2) break
    child.kill('SIGINT')
    expect((await once(child, 'close'))[0]).toBe(130)
    expect(await output).toEqual(['appended 2 records to s\n', 'durlog: INTERRUPTED: ended by SIGINT\n'])
  },
)

test.skipIf(process.platform === 'win32')('export reports how many records it has written', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openUntilDone(dir)
  for (let i = 0; i < 64; i++) log.write(`${i} ${'x'.repeat(2 ** 16)}`)
  await log.sync()
  const child = startDurlog(['export', dir])
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  // The test reads no more output, so the command waits with the rest.
  await new Promise((resolve) => child.stdout?.once('readable', resolve))
  child.kill('SIGTERM')
  const code = new Promise((resolve) => child.on('exit', resolve))
  expect(await code).toBe(130)
  child.stdout?.destroy()
  expect(stderr).toMatch(/^durlog: interrupted; exported \d+ records?, /)
})

const withoutNamespaces = ((): string => {
  if (process.platform !== 'linux') return 'needs Linux'
  const { status, stderr } = spawnSync('unshare', ['-pf', '--kill-child', 'true'], { encoding: 'utf8' })
  return status === 0 ? '' : `needs the right to make a PID namespace: ${stderr ?? 'no unshare'}`
})()

test.skipIf(withoutNamespaces !== '')(
  `as the first process of a container, a command that waits ends at SIGTERM ${withoutNamespaces}`,
  async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir)
    await log.append('a')
    const node = [process.execPath, fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))]
    const command = ['-pf', '--kill-child', ...node, 'tail', '-f', dir]
    const child = spawn('unshare', command, { stdio: ['ignore', 'pipe', 'ignore'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    // The child of unshare is the first process of its namespace.
    const own = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim()
    process.kill(Number(own), 'SIGTERM')
    expect(await once(child, 'exit')).toEqual([143, null])
  },
)
