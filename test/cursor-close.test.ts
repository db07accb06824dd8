/** A log that is closed while calls on its cursors are pending. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type EnsureCursorOptions, open } from '../src/index.js'
import { native } from '../src/native/native.js'
import { codeOf, openUntilDone, scratchDir, scratchLog } from './fixtures/scratch.js'

const NEVER_MS = 2 ** 31 - 1

test('close ends the calls that wait for the owner of a cursor', async () => {
  const owner = await scratchLog()
  await owner.cursor('c')
  const log = await openUntilDone(owner.dir, { readOnly: true })
  const waiting = [codeOf(log.cursor('c', { waitMs: NEVER_MS })), codeOf(log.cursor('c', { waitMs: NEVER_MS }))]
  await log.close()
  expect(await Promise.all(waiting)).toEqual(['ERR_DURLOG_CLOSED', 'ERR_DURLOG_CLOSED'])
})

test.each(['cursor', 'ensureCursor'] as const)(
  '%s: when close resolves, the cursor that was being opened is free, and a refused new one has no file',
  async (method) => {
    const dir = join(scratchDir(), 'log')
    for (let turns = 0; turns < 8; turns++) {
      const log = await open(dir)
      const call = log[method]('c')
      const outcome = codeOf(Promise.resolve<unknown>(call))
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
      await log.close()
      const created = (await outcome) === 'none'
      const next = await open(dir)
      expect((await next.cursors()).map(({ name }) => name)).toEqual(created ? ['c'] : [])
      await next.cursor('c')
      await next.removeCursor('c').catch(() => {})
      await next.close()
      const last = await open(dir)
      await last.removeCursor('c')
      await last.close()
    }
  },
)

test('ensureCursor refuses bad options, also for a cursor that exists', async () => {
  const log = await scratchLog()
  await log.ensureCursor('c')
  for (const options of [null, 5, { waitMs: 5 }, { from: -5 }, { from: 'end' }])
    expect(await codeOf(log.ensureCursor('c', options as EnsureCursorOptions))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test('close does not wait for a trim that delays a new cursor or a seek', async () => {
  const writer = await scratchLog()
  await writer.append('a')
  const log = await openUntilDone(writer.dir, { readOnly: true })
  const placed = await log.cursor('placed')
  const trim = await native.lockTrims(writer.dir)
  const created = codeOf(log.cursor('created'))
  const sought = codeOf(placed.seek(1))
  await expect.poll(async () => (await writer.cursors()).map(({ position }) => position)).toEqual([0, 1])
  await log.close()
  expect(await Promise.all([created, sought])).toEqual(['ERR_DURLOG_CLOSED', 'ERR_DURLOG_CLOSED'])
  expect((await writer.cursors()).map(({ name }) => name)).toEqual(['placed'])
  trim.release()
})
