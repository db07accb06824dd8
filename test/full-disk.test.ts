import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DurlogError, type OpenOptions, open } from '../src/index.js'
import { scratchDir, texts } from './fixtures/scratch.js'

/** A file system of `bytes` in memory, gone with the test. */
function mountSmallDisk(bytes: number): string {
  const dir = join(scratchDir(), 'disk')
  mkdirSync(dir)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', dir], { stdio: 'pipe' })
  onTestFinished(() => void execFileSync('umount', ['-l', dir]))
  return dir
}

/** Why no small disk can be had here, or ''. */
function mountProblem(): string {
  if (process.platform !== 'linux') return 'only Linux mounts a tmpfs'
  if (process.getuid?.() !== 0) return 'mounting needs root'
  const dir = scratchDirAtOnce()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=65536', 'tmpfs', dir], { stdio: 'pipe' })
    execFileSync('umount', [dir])
    return ''
  } catch (error) {
    return `mounting is refused: ${(error as Error).message.split('\n')[0]}`
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function scratchDirAtOnce(): string {
  const dir = join('/tmp', `durlog-mount-${process.pid}`)
  mkdirSync(dir)
  return dir
}

const problem = mountProblem()
const CASES: OpenOptions[] = [
  { strategy: 'auto' },
  { strategy: 'auto', durability: 'memory' },
  { strategy: 'mmap', preallocate: 'fallocate' },
  { strategy: 'mmap', preallocate: 'fallocate', durability: 'memory' },
  { strategy: 'pwrite', preallocate: 'none' },
  { strategy: 'pwrite', preallocate: 'fallocate' },
  { strategy: 'pwrite', preallocate: 'zero' },
  { strategy: 'direct', preallocate: 'zero' },
]

describe.skipIf(problem !== '')(`on a full disk${problem && ` (skipped: ${problem})`}`, () => {
  test.each(CASES)(
    '%j: appends reject with ERR_DURLOG_NO_SPACE, lose nothing, and go on when there is room',
    async (options) => {
      const disk = mountSmallDisk(4 * 2 ** 20)
      const dir = join(disk, 'log')
      const ballast = join(disk, 'ballast')
      const log = await open(dir, { segmentBytes: 2 ** 20, ...options })
      writeFileSync(ballast, Buffer.alloc(3 * 2 ** 19))
      const stored: string[] = []
      const failures: unknown[] = []
      const append = async (text: string): Promise<void> => {
        const seq = await log.append(text).catch((error: unknown) => void failures.push(error))
        if (seq === undefined) return
        expect(seq).toBe(stored.length)
        stored.push(text)
      }
      for (let i = 0; i < 1000 && failures.length < 3; i++) await append(`${i} ${'x'.repeat(9000)}`)
      expect(failures).toHaveLength(3)
      for (const error of failures) {
        expect(error).toBeInstanceOf(DurlogError)
        expect((error as DurlogError).code).toBe('ERR_DURLOG_NO_SPACE')
      }
      await append('small enough for what is left of the segment')
      rmSync(ballast)
      for (let i = 0; i < 50; i++) await append(`after ${i} ${'y'.repeat(9000)}`)
      expect(stored.length).toBeGreaterThan(50)
      expect(stored.at(-1)).toMatch(/^after 49/)
      expect(await texts(log.read())).toEqual(stored)
      await log.close()
      const again = await open(dir, { readOnly: true })
      expect(await texts(again.read())).toEqual(stored)
      const writer = await open(dir, options)
      expect(writer.recovery.state).toBe('clean')
      expect(await writer.append('on')).toBe(stored.length)
      await writer.close()
    },
  )

  test('of many appends at once those without room are refused, and those that were acknowledged are there', async () => {
    const dir = join(mountSmallDisk(3 * 2 ** 20), 'log')
    const log = await open(dir, { strategy: 'pwrite', preallocate: 'fallocate', segmentBytes: 2 ** 20 })
    const outcomes = await Promise.allSettled(
      Array.from({ length: 400 }, (_, i) => log.append(`${i} ${'z'.repeat(9000)}`)),
    )
    const seqs = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    const stored = seqs.length
    expect(stored).toBeLessThan(400)
    // A group that was rolled back gives its seqs to what comes after it.
    expect(seqs).toEqual(Array.from({ length: stored }, (_, seq) => seq))
    expect(log.nextSeq).toBe(stored)
    for (const outcome of outcomes.filter(({ status }) => status === 'rejected'))
      expect(outcome).toMatchObject({ reason: { code: 'ERR_DURLOG_NO_SPACE', outcome: 'not-written' } })
    expect(await log.append('more')).toBe(stored)
    expect((await texts(log.read())).at(-1)).toBe('more')
    await log.close()
    const again = await open(dir)
    expect(again.nextSeq).toBe(stored + 1)
    await again.close()
  })
})
