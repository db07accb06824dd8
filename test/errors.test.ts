import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DurlogError, withOutcome } from '../src/errors.js'
import { open } from '../src/index.js'
import { openStreams } from '../src/streams/index.js'
import { scratchDir } from './fixtures/scratch.js'

test('a detail that does not apply is not a property of the error', () => {
  const error = new DurlogError('ERR_DURLOG_IO', 'pwrite failed', { errno: 5, syscall: 'pwrite' })
  expect(Object.keys(error).sort()).toEqual(['code', 'errno', 'errnoName', 'syscall'])
  expect('ownerPid' in error).toBe(false)
})

test('an errno has its number and its name', () => {
  expect(new DurlogError('ERR_DURLOG_IO', 'openat failed', { errno: 13 })).toMatchObject({
    errno: 13,
    errnoName: 'EACCES',
  })
  expect('errnoName' in new DurlogError('ERR_DURLOG_IO', 'a page could not be read')).toBe(false)
})

test('an error has the name of its class, also in the first line of its stack', () => {
  const error = new DurlogError('ERR_DURLOG_CLOSED', 'closed')
  expect(error).toBeInstanceOf(Error)
  expect(error.name).toBe('DurlogError')
  expect(error.stack).toMatch(/^DurlogError: closed/)
})

test('the outcome is reported with the code, and the cause is kept', () => {
  const cause = new DurlogError('ERR_DURLOG_SYNC_FAILED', 'fdatasync failed', { errno: 5, syscall: 'fdatasync' })
  const error = withOutcome(cause, 'unknown')
  expect(error).toMatchObject({ code: 'ERR_DURLOG_SYNC_FAILED', errno: 5, syscall: 'fdatasync', outcome: 'unknown' })
  expect(error.cause).toBe(cause)
  expect(withOutcome(cause, 'not-written').message).toContain('not written')
})

test.each([{ create: false }, { readOnly: true } as const])(
  'the stack of a failed open names its caller: %o',
  async (options) => {
    async function opensMissingLog(): Promise<void> {
      await open(join(scratchDir(), 'missing'), options)
    }
    const error = (await opensMissingLog().catch((reason: unknown) => reason)) as DurlogError
    expect(error.code).toBe('ERR_DURLOG_NOT_FOUND')
    expect(error.stack).toMatch(/^DurlogError: .*\n/)
    expect(error.stack).toContain('opensMissingLog')
  },
)

test('the stack of an error that the owner of a folder of streams reports names the caller', async () => {
  const streams = await openStreams(join(scratchDir(), 'streams'))
  onTestFinished(() => streams.close())
  const missing = streams.stream('missing')
  const calls: (() => Promise<unknown>)[] = [
    () => missing.append(1, { expectedSeq: 5 }),
    () => streams.appendBatch([{ stream: 'missing', value: 1, expectedSeq: 5 }]),
    () => missing.end(),
    () => missing.create({ fork: { stream: 'none' } }),
    () => missing.read().next(),
    () => streams.removeCursor('missing'),
  ]
  for (const call of calls) {
    async function callsStreams(): Promise<void> {
      await call()
    }
    const error = (await callsStreams().catch((reason: unknown) => reason)) as DurlogError
    expect([error.code, error.stack]).toEqual([
      expect.stringMatching('ERR_DURLOG_'),
      expect.stringContaining('callsStreams'),
    ])
  }
})
