/** Other work in libuv's pool does not delay a log, and a log does not delay other work. */
import { execFile } from 'node:child_process'
import { platform } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { scratchDir } from './fixtures/scratch.js'

const CHILD = fileURLToPath(new URL('fixtures/busy-pool-child.mjs', import.meta.url))
const STALLED_CHILD = fileURLToPath(new URL('fixtures/stalled-pool-child.mjs', import.meta.url))

async function linesOf(child: string, env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [child, scratchDir()], {
    env: { ...process.env, ...env },
    timeout: 200_000,
    killSignal: 'SIGKILL',
  })
  return stdout.trim().split('\n')
}

// A FIFO holds a worker until it has a writer.
describe.skipIf(platform() === 'win32')('a pool whose workers are all occupied', () => {
  test.each(['1', '4'])('delays no call of a log (UV_THREADPOOL_SIZE %s)', async (size) => {
    expect(await linesOf(CHILD, { UV_THREADPOOL_SIZE: size })).toEqual([
      'append',
      'rotation',
      'read',
      'cursor',
      'truncate and trim',
      'trim from outside',
      'inspect',
      'shared',
      'terminated worker',
      'free',
    ])
  })
})

describe.skipIf(platform() !== 'linux')('a shared log whose other writer is stopped', () => {
  test('occupies no worker of the pool', async () => {
    expect(await linesOf(STALLED_CHILD, { UV_THREADPOOL_SIZE: '1' })).toEqual(['stat', 'stalled', 'append'])
  })
})
