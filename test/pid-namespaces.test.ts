/** A process id is only given to processes in which it names the same process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { scratchDir } from './fixtures/scratch.js'

const PROGRAM = fileURLToPath(new URL('fixtures/open-and-hold.mjs', import.meta.url))
const NEW_NAMESPACE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']

interface Refusal {
  code?: string
  message?: string
  ownerPid?: number
}

/** Opens `dir` in a separate process, in a new PID namespace or in this one. Resolves when that is done. */
async function openIn(namespace: 'new' | 'this', dir: string, kind: string, hold = ''): Promise<Refusal> {
  const [command = '', ...args] = [
    ...(namespace === 'new' ? NEW_NAMESPACE : []),
    process.execPath,
    PROGRAM,
    dir,
    kind,
    hold,
  ]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  return JSON.parse(String(line))
}

describe('a process in another PID namespace', () => {
  test.for([
    ['alone', 'alone'],
    ['alone', 'shared'],
    ['shared', 'alone'],
  ])('that has the log open %s is not named to one that opens it %s', async ([held = '', kind = ''], { skip }) => {
    skip(process.platform !== 'linux' || process.getuid?.() !== 0, 'only root on Linux can make a PID namespace')
    const dir = `${scratchDir()}/log`
    expect(await openIn('new', dir, held, 'hold')).toEqual({})
    for (const namespace of ['new', 'this'] as const) {
      const refusal = await openIn(namespace, dir, kind)
      expect(refusal.code).toBe('ERR_DURLOG_LOCKED')
      expect(refusal.ownerPid).toBe(undefined)
      expect(refusal.message).not.toMatch(/this process|process \d/)
    }
  })

  test('shares a folder of streams without giving its id', async ({ skip }) => {
    skip(process.platform !== 'linux' || process.getuid?.() !== 0, 'only root on Linux can make a PID namespace')
    const dir = scratchDir()
    expect((await openIn('new', dir, 'streams', 'hold')).ownerPid).toBeGreaterThan(0)
    for (const namespace of ['new', 'this'] as const)
      expect(await openIn(namespace, dir, 'streams')).toEqual({ ownerPid: 0 })
  })
})

test('a process in the same PID namespace is named', async () => {
  const dir = `${scratchDir()}/log`
  expect(await openIn('this', dir, 'alone', 'hold')).toEqual({})
  expect((await openIn('this', dir, 'alone')).ownerPid).toBeGreaterThan(0)
})
