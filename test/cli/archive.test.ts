import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { open } from '../../src/index.js'
import { store } from '../fixtures/archive.js'
import { durlog, durlogProcess, startDurlog } from '../fixtures/command.js'
import type { FakeS3 } from '../fixtures/fake-s3.mjs'
import { scratchDir } from '../fixtures/scratch.js'

/** Sets the credentials of the commands, and returns the arguments that name the bucket. */
function where(s3: FakeS3): [string, string, string] {
  process.env['AWS_ACCESS_KEY_ID'] = 'key'
  process.env['AWS_SECRET_ACCESS_KEY'] = 'secret'
  return [s3.access.bucket, '--endpoint', s3.url]
}

async function threeRecords(): Promise<string> {
  const dir = join(scratchDir(), 'log')
  await durlog(['append', dir], 'one\ntwo\nthree\n')
  return dir
}

test('archive --once archives all records, --status reports it, and restore restores them', async () => {
  const s3 = await store()
  const dir = await threeRecords()
  const archived = await durlogProcess(['archive', dir, ...where(s3), '--once', '--json'])
  expect(archived).toMatchObject({ code: 0 })
  expect(JSON.parse(archived.stdout.toString())).toMatchObject({ records: 3, archivedSeq: 2 })
  expect((await durlog(['archive', dir, '--status'])).stdout.toString()).toContain('to seq 2; 0 records wait')
  const back = join(scratchDir(), 'back')
  const listed = await durlog(['restore', back, ...where(s3), '--list', '--json'])
  expect(JSON.parse(listed.stdout.toString())).toMatchObject({
    histories: [{ generation: 0, firstSeq: 0, nextSeq: 3 }],
    points: [{ firstSeq: 0, lastSeq: 2, records: 3 }],
  })
  expect((await durlog(['restore', back, ...where(s3), '--list'])).stdout.toString()).toContain('seq 0 to 2')
  expect(await durlogProcess(['restore', back, ...where(s3)])).toMatchObject({ code: 0 })
  expect((await durlog(['cat', back])).stdout.toString()).toBe('one\ntwo\nthree\n')
  const part = join(scratchDir(), 'part')
  expect(await durlog(['restore', part, ...where(s3), '--to', '2'])).toMatchObject({ code: 0 })
  expect((await durlog(['cat', part])).stdout.toString()).toBe('one\ntwo\n')
  expect(await durlog(['restore', part, ...where(s3)])).toMatchObject({ code: 65 })
})

test('repair --from puts a lost record back from an archive', async () => {
  const s3 = await store()
  const dir = await threeRecords()
  await durlog(['archive', dir, ...where(s3), '--once'])
  const segment = join(dir, '00000000000000000000.seg')
  const bytes = readFileSync(segment)
  bytes[bytes.indexOf('two')] = 0
  writeFileSync(segment, bytes)
  expect((await durlog(['verify', dir])).code).toBe(2)
  const [bucket, ...options] = where(s3)
  const { code, stdout } = await durlog(['repair', dir, '--from', bucket, ...options, '--apply'])
  expect([code, stdout.toString()]).toEqual([0, expect.stringContaining('seq 1: restored')])
  expect((await durlog(['cat', dir])).stdout.toString()).toBe('one\ntwo\nthree\n')
})

test('archive continues until a signal while a writer appends, and then archives the remaining records', async () => {
  const s3 = await store()
  const dir = await threeRecords()
  const child = startDurlog(['archive', dir, ...where(s3), '--json', '--flush', '1'])
  let reported = ''
  const first = new Promise<void>((resolve) =>
    child.stderr?.on('data', (chunk: Buffer) => {
      reported += chunk.toString()
      if (reported.includes('"archivedSeq":2')) resolve()
    }),
  )
  await first
  const log = await open(dir)
  await log.append('four')
  child.kill('SIGTERM')
  const [code] = await once(child, 'close')
  await log.close()
  expect(code).toBe(0)
  const back = join(scratchDir(), 'back')
  await durlog(['restore', back, ...where(s3)])
  expect((await durlog(['cat', back])).stdout.toString()).toBe('one\ntwo\nthree\nfour\n')
})

test('archive and restore end with the exit status of the failure', async () => {
  const s3 = await store()
  const dir = await threeRecords()
  const back = join(scratchDir(), 'back')
  expect(await durlog(['archive', dir, '--once'])).toMatchObject({ code: 64 })
  expect(await durlog(['restore', back, ...where(s3)])).toMatchObject({ code: 66 })
  s3.fault = () => ({ status: 403, code: 'AccessDenied' })
  expect(await durlog(['archive', dir, ...where(s3), '--once'])).toMatchObject({ code: 77 })
  s3.fault = () => ({ status: 500 })
  expect(await durlogProcess(['archive', dir, ...where(s3), '--once', '--retry-for', '1'])).toMatchObject({ code: 69 })
  const unreachable = await durlogProcess(['restore', back, ...where(s3), '--retry-for', '1', '--json'])
  expect(unreachable).toMatchObject({ code: 69 })
  expect(unreachable.stderr.toString()).toMatch(/^{"event":"retry","message":"GET s3:.* 500 Fault.*","attempt":1,/)
})

test('doctor reports whether a store is safe for an archive', async () => {
  const s3 = await store()
  const good = await durlog(['doctor', ...where(s3)])
  expect(good.stdout.toString()).not.toContain('FAIL')
  expect(good.code).toBe(0)
  s3.ignoresConditions = true
  const bad = await durlog(['doctor', ...where(s3), '--json'])
  expect(bad.code).toBe(2)
  expect(JSON.parse(bad.stdout.toString()).findings).toContainEqual(
    expect.objectContaining({ check: 'of 32 creates at once, exactly one succeeds', verdict: 'FAIL' }),
  )
  // Only the result.
  expect(s3.keys()).toEqual(['test/probe.json'])
  s3.fault = () => ({ status: 404 })
  for (const command of [['doctor'], ['restore', scratchDir(), '--retry-for', '1ms']])
    expect((await durlog([...command, ...where(s3)])).stderr).toContain(
      'Check that the endpoint is the URL of an S3 store',
    )
  s3.fault = () => undefined
  const none = await durlog(['doctor', where(s3)[0], '--endpoint', 'http://127.0.0.1:9'])
  expect(none.code).toBe(69)
  expect(none.stderr.toString()).toContain('ERR_DURLOG_DESTINATION_UNREACHABLE')
})

test('archive --status reports the last error and since when, and its exit status is the health', async () => {
  const s3 = await store()
  const dir = await threeRecords()
  const status = async (): Promise<{ code: number; text: string; json: Record<string, unknown> }> => {
    const { code, stdout } = await durlog(['archive', dir, '--status'])
    const json = await durlog(['archive', dir, '--status', '--json'])
    expect(json.code).toBe(code)
    return { code: code as number, text: stdout.toString(), json: JSON.parse(json.stdout.toString()) }
  }
  const before = await status()
  expect(before).toMatchObject({ code: 1, json: { healthy: false, lastFailure: null } })
  expect(before.text).toContain('a record waits since 20')
  s3.fault = () => ({ status: 503, code: 'SlowDown' })
  const failed = await durlogProcess(['archive', dir, ...where(s3), '--once', '--retry-for', '1ms'])
  expect(failed.code).toBe(69)
  expect(failed.stderr.toString()).toMatch(/^durlog: 20[0-9-]+T[0-9:.]+Z .*SlowDown & more; attempt 2 follows in/m)
  const stopped = await status()
  expect(stopped).toMatchObject({ code: 1, json: { healthy: false, lastFailure: { stopped: true } } })
  expect(stopped.text).toMatch(/SlowDown & more \(\d+ failed attempts since 20.*; it has stopped the archiver\)/)
  expect(stopped.text).toContain('(--retry-for)')
  s3.fault = () => undefined
  expect(await durlogProcess(['archive', dir, ...where(s3), '--once'])).toMatchObject({ code: 0 })
  const after = await status()
  expect(after).toMatchObject({ code: 0, json: { healthy: true, oldestWaitMs: 0, lastFailure: { stopped: false } } })
  expect(after.text).toMatch(/SlowDown & more \(ended 20/)
})
