/** Ctrl-C during a command that runs for a while. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startDurlog } from '../fixtures/command.js'
import { openUntilDone, scratchDir, texts } from '../fixtures/scratch.js'

test.skipIf(process.platform === 'win32')('append reports exactly the records that it has stored', async () => {
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
  child.kill('SIGINT')
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(130)
  expect(output.stdout).toMatch(/^appended 2 records, seq 0 to 1, at sync/)
  expect(output.stderr).toContain('durlog: INTERRUPTED: ended by SIGINT')
  const log = await openUntilDone(dir)
  expect(await texts(log.read())).toEqual(['a', 'b'])
})

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
  child.kill('SIGINT')
  const code = new Promise((resolve) => child.on('exit', resolve))
  expect(await code).toBe(130)
  child.stdout?.destroy()
  expect(stderr).toMatch(/^durlog: interrupted; exported \d+ records?, /)
})
