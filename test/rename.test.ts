import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rename } from '../src/support/rename.js'
import { codeOf, scratchDir } from './fixtures/scratch.js'

/** A rename that fails `failures` times. */
function failing(code: string, failures: number): { call: () => Promise<void>; calls: () => number } {
  let calls = 0
  const call = async (): Promise<void> => {
    if (++calls <= failures) throw Object.assign(new Error(code), { code })
  }
  return { call, calls: () => calls }
}

test.each(['EACCES', 'EBUSY', 'EPERM'])('a rename on Windows that fails with %s is tried again', async (code) => {
  const { call, calls } = failing(code, 3)
  await rename('from', 'to', { call, platform: 'win32' })
  expect(calls()).toBe(4)
})

test('a rename fails at once with any other error, and on any other system', async () => {
  for (const [code, platform] of [
    ['ENOENT', 'win32'],
    ['EPERM', 'linux'],
  ] as const) {
    const { call, calls } = failing(code, 1)
    expect(await codeOf(rename('from', 'to', { call, platform }))).toBe(code)
    expect(calls()).toBe(1)
  }
})

test('a rename on Windows that always fails is given up', async () => {
  const { call } = failing('EPERM', Number.POSITIVE_INFINITY)
  expect(await codeOf(rename('from', 'to', { call, platform: 'win32' }))).toBe('EPERM')
})

test('a rename replaces a file', async () => {
  const [from, to] = ['from', 'to'].map((name) => join(scratchDir(), name)) as [string, string]
  writeFileSync(from, 'new')
  writeFileSync(to, 'old')
  await rename(from, to)
  expect(readFileSync(to, 'utf8')).toBe('new')
})
