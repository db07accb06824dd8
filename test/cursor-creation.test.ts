/** Cursors that are created while another process trims the log. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { type CursorSummary, type DurableCursor, open, type ReadableLog, trim } from '../src/index.js'
import { trimRequests } from '../src/log/maintenance/trim-request.js'
import { native } from '../src/native/native.js'
import { codeOf, openUntilDone, records, scratchDir } from './fixtures/scratch.js'

const HOLDER = fileURLToPath(new URL('fixtures/held-trim.mjs', import.meta.url))
const HOUR_MS = 3_600_000

/** A closed log of 10 records, of which four fill a segment. The first eight are two hours old. */
async function makeOldLog(): Promise<string> {
  const dir = join(scratchDir(), 'log')
  const log = await open(dir, { segmentBytes: 65536 })
  for (let i = 0; i < 10; i++)
    await log.append(Buffer.alloc(15_000, i), { timestamp: Date.now() - (i < 8 ? 2 * HOUR_MS : 0) })
  await log.close()
  return dir
}

/** Another process that has planned to trim the log in `dir`, and waits for `trim`. */
async function holdTrim(dir: string): Promise<{ trim(): Promise<string>; kill(): Promise<void> }> {
  const child = spawn(process.execPath, [HOLDER, dir], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('planned')
  return {
    async trim() {
      child.stdin.write('\n')
      return (await lines.next()).value as string
    },
    async kill() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

async function listed(log: ReadableLog, name: string): Promise<CursorSummary | undefined> {
  return (await log.cursors()).find((cursor) => cursor.name === name)
}

async function firstRead(cursor: DurableCursor): Promise<number | undefined> {
  return (await records(cursor.read(), 1))[0]?.seq
}

test('a cursor that is created while another process trims begins at the first record that is left', async () => {
  const dir = await makeOldLog()
  const other = await holdTrim(dir)
  const log = await openUntilDone(dir, { readOnly: true })
  const created = log.cursor('late')
  await expect.poll(() => listed(log, 'late')).toMatchObject({ position: 0 })
  const firstSeq = Number(await other.trim())
  const cursor = await created
  expect([firstSeq, cursor.position, await firstRead(cursor)]).toEqual([8, 8, 8])
})

test('a cursor at a seq that another process trims during its creation is refused, and is not created', async () => {
  const dir = await makeOldLog()
  const other = await holdTrim(dir)
  const log = await openUntilDone(dir, { readOnly: true })
  const refused = codeOf(log.cursor('late', { from: 5 }))
  await expect.poll(() => listed(log, 'late')).toMatchObject({ position: 5 })
  await other.trim()
  expect(await refused).toBe('ERR_DURLOG_OUT_OF_RANGE')
  expect(await log.cursors()).toEqual([])
})

test('ensureCursor relies on no cursor that another process is creating, and whose creation is refused', async () => {
  const dir = await makeOldLog()
  const other = await holdTrim(dir)
  const log = await openUntilDone(dir, { readOnly: true })
  const refused = codeOf(log.cursor('late', { from: 5 }))
  await expect.poll(() => listed(log, 'late')).toMatchObject({ position: 5 })
  const producer = await openUntilDone(dir, { readOnly: true })
  let looks = 0
  const { openDurableCursor } = native
  onTestFinished(() => void Object.assign(native, { openDurableCursor }))
  const looked = new Promise<void>((resolve) => {
    native.openDurableCursor = (...of) => {
      if (looks++ > 0) resolve()
      return openDurableCursor(...of)
    }
  })
  const ensured = producer.ensureCursor('late')
  await Promise.race([looked, ensured])
  await other.trim()
  expect(await refused).toBe('ERR_DURLOG_OUT_OF_RANGE')
  await ensured
  expect(await listed(log, 'late')).toMatchObject({ position: 8, state: 'ready' })
})

test('ensureCursor rejects as cursor() does if the file belongs to a cursor of another log', async () => {
  const [dir, otherDir] = [await makeOldLog(), await makeOldLog()]
  const other = await openUntilDone(otherDir, { readOnly: true })
  await other.ensureCursor('mailer')
  copyFileSync(join(otherDir, 'mailer.cursor'), join(dir, 'mailer.cursor'))
  const log = await openUntilDone(dir, { readOnly: true })
  expect(await codeOf(log.cursor('mailer'))).toBe('ERR_DURLOG_NOT_A_LOG')
  expect(await codeOf(log.ensureCursor('mailer'))).toBe('ERR_DURLOG_NOT_A_LOG')
})

test('a cursor that another process moves back during a trim is refused if its records are trimmed', async () => {
  const dir = await makeOldLog()
  const log = await openUntilDone(dir, { readOnly: true })
  const cursor = await log.cursor('moving', { from: 9 })
  const other = await holdTrim(dir)
  const refused = codeOf(cursor.seek(2))
  await expect.poll(() => listed(log, 'moving')).toMatchObject({ position: 2 })
  await other.trim()
  expect(await refused).toBe('ERR_DURLOG_OUT_OF_RANGE')
  await cursor.seek(8)
  expect(await firstRead(cursor)).toBe(8)
})

test('a process that was killed during a trim does not delay the creation of a cursor, which later passes honour', async () => {
  const dir = await makeOldLog()
  const other = await holdTrim(dir)
  await other.kill()
  const log = await openUntilDone(dir, { readOnly: true })
  const cursor = await log.cursor('early')
  const writer = await openUntilDone(dir, { segmentBytes: 65536, retention: { maxAgeMs: HOUR_MS } })
  expect([await writer.applyRetention(), await firstRead(cursor)]).toEqual([0, 0])
})

test('a writer that serves a request to trim keeps the records of a cursor that is newer than the request', async () => {
  const dir = await makeOldLog()
  const writer = await openUntilDone(dir, { segmentBytes: 65536 })
  expect(await trim(dir, { maxAgeMs: HOUR_MS, waitMs: 0 })).toMatchObject({ by: 'requested', before: 8 })
  const name = (await trimRequests(dir))[0] as string
  copyFileSync(join(dir, name), join(dir, '..', name))
  await writer.close()
  const log = await openUntilDone(dir, { readOnly: true })
  const isServed = log.firstSeq > 0 // the writer may have looked for requests before it was closed
  const cursor = await log.cursor('newer')
  copyFileSync(join(dir, '..', name), join(dir, name))
  const next = await openUntilDone(dir, { segmentBytes: 65536 })
  await expect.poll(() => trimRequests(dir)).toEqual([])
  expect([next.firstSeq, await firstRead(cursor)]).toEqual(isServed ? [8, 8] : [0, 0])
})
