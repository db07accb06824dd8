/** Followers of a log that no writer has open: they do not poll the files, and miss no record of a later writer. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { platform } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { native } from '../src/native/native.js'
import { openUntilDone, scratchDir, texts } from './fixtures/scratch.js'

/**
 * A log that its writer has closed, and the next `count` records of a follower that waits after the log's only record.
 */
async function waitingFollower(
  durableOnly: boolean,
): Promise<{ dir: string; next: (count: number) => Promise<string[]> }> {
  const dir = scratchDir()
  const writer = await openUntilDone(dir)
  await writer.append('first')
  await writer.close()
  const opened = vi.spyOn(native, 'openLivePage')
  const reader = await openUntilDone(dir, { readOnly: true })
  const page = opened.mock.results[0]?.value as ReturnType<typeof native.openLivePage>
  opened.mockRestore()
  const watch = vi.spyOn(page, 'watch')
  const follower = reader.read({ follow: true, durableOnly })
  expect((await follower.next()).value?.data.toString()).toBe('first')
  const waiting = follower.next()
  await expect.poll(() => watch.mock.calls.length).toBeGreaterThan(0)
  const next = async (count: number): Promise<string[]> => {
    const second = (await waiting).value?.data.toString() as string
    return [second, ...(await texts(follower, count - 1))]
  }
  return { dir, next }
}

const LEVELS = [['memory', false] as const, ['sync', true] as const]

test.each(LEVELS)(
  'a follower waits for the page of the next writer, and reads its records (%s)',
  async (_, durable) => {
    const { dir, next } = await waitingFollower(durable)
    const found = next(41)
    for (let life = 0; life < 20; life++) {
      const writer = await openUntilDone(dir)
      await writer.append(`${life} a`)
      await writer.append(`${life} b`)
      await writer.close()
    }
    const last = await openUntilDone(dir)
    await last.append('last')
    expect(await found).toEqual([...Array.from({ length: 20 }, (_, i) => [`${i} a`, `${i} b`]).flat(), 'last'])
  },
)

test.each(LEVELS)('a follower reads the files if the next writer has no page (%s)', async (_, durable) => {
  const { dir, next } = await waitingFollower(durable)
  rmSync(join(dir, 'live'))
  mkdirSync(join(dir, 'live')) // no writer can create the page
  const writer = await openUntilDone(dir)
  const found = next(2)
  await writer.append('second')
  await writer.append('third')
  await writer.append('marks the record before it as synced')
  expect(await found).toEqual(['second', 'third'])
})

test.skipIf(platform() !== 'linux')('a follower reads the files if a member cannot use the page', async () => {
  const { dir, next } = await waitingFollower(false)
  const first = await openUntilDone(dir, { shared: true })
  rmSync(join(dir, 'live'))
  const found = next(2)
  const second = await openUntilDone(dir, { shared: true })
  expect(readdirSync(dir)).not.toContain('live')
  await second.append('second')
  await first.close()
  await second.append('third')
  expect(await found).toEqual(['second', 'third'])
})

test('a follower finds records that a program has copied into the folder', async () => {
  const { dir, next } = await waitingFollower(true)
  const copy = scratchDir()
  cpSync(dir, copy, { recursive: true })
  const writer = await openUntilDone(copy)
  await writer.append('second')
  await writer.close()
  const segment = '00000000000000000000.seg'
  writeFileSync(join(dir, segment), readFileSync(join(copy, segment)))
  expect(await next(1)).toEqual(['second'])
})
