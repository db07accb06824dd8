import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { open } from '../../src/index.js'
import { durlog, durlogProcess, startDurlog } from '../fixtures/command.js'
import { missingServer } from '../fixtures/nats.mjs'
import { scratchDir } from '../fixtures/scratch.js'
import { admin, STREAM, SUBJECT, server, stored, textsOf } from '../fixtures/ship.js'
import { speechlessServer } from '../fixtures/tcp-peers.js'

if (missingServer !== '') process.stdout.write(`skipped: ${missingServer}\n`)

const WHERE = ['--stream', STREAM, '--subject', SUBJECT]

async function threeRecords(): Promise<string> {
  const dir = join(scratchDir(), 'log')
  await durlog(['append', dir], 'one\ntwo\nthree\n')
  return dir
}

describe.skipIf(missingServer !== '')('durlog', () => {
  test('ship --once ships all records, ship --status reports it, and restore restores them', async () => {
    const nats = await server()
    const dir = await threeRecords()
    const before = await durlog(['ship', dir, '--status', '--json'])
    expect(JSON.parse(before.stdout.toString())).toMatchObject({ nextSeq: 3, syncedSeq: 2, cursor: null })
    const shipped = await durlogProcess(['ship', dir, nats.url, ...WHERE, '--once', '--json'])
    expect(shipped).toMatchObject({ code: 0 })
    expect(JSON.parse(shipped.stdout.toString() || shipped.stderr.trim().split('\n').at(-1) || '')).toMatchObject({
      records: 3,
      shippedSeq: 2,
    })
    expect(textsOf(await stored(await admin(nats)))).toEqual(['one', 'two', 'three'])
    const after = await durlog(['ship', dir, '--status', '--json'])
    expect(JSON.parse(after.stdout.toString())).toMatchObject({ cursor: { position: 3, lagRecords: 0, owned: false } })
    expect((await durlog(['ship', dir, '--status'])).stdout.toString()).toContain('to seq 2; 0 records wait')
    const back = join(scratchDir(), 'back')
    expect(await durlogProcess(['restore', back, nats.url, ...WHERE])).toMatchObject({ code: 0 })
    expect((await durlog(['cat', back])).stdout.toString()).toBe('one\ntwo\nthree\n')
    const part = join(scratchDir(), 'part')
    expect(await durlogProcess(['restore', part, nats.url, ...WHERE, '--from', '1', '--to', '2'])).toMatchObject({
      code: 0,
    })
    expect((await durlog(['cat', part])).stdout.toString()).toBe('two\n')
  })

  test('ship continues until a signal, while a writer appends', async () => {
    const nats = await server()
    const dir = await threeRecords()
    const child = startDurlog(['ship', dir, nats.url, ...WHERE, '--json'])
    const log = await open(dir)
    await log.append('four')
    let told = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      told += chunk.toString()
      if (told.includes('"shippedSeq":3')) child.kill('SIGTERM')
    })
    const [code] = await once(child, 'close')
    expect(code).toBe(0)
    await log.close()
    expect(textsOf(await stored(await admin(nats)))).toEqual(['one', 'two', 'three', 'four'])
  })

  test('ship and restore end with the exit status of the failure', async () => {
    const nats = await server('authorization { user: a, password: b }')
    const dir = await threeRecords()
    const statusOf = async (...args: string[]): Promise<number | null> => (await durlogProcess(args)).code
    expect(await statusOf('ship', dir, nats.url)).toBe(64)
    expect(await statusOf('ship', dir, nats.url, ...WHERE, '--once')).toBe(77)
    expect(await statusOf('restore', dir, nats.url, ...WHERE)).toBe(65)
    expect(await statusOf('ship', join(dir, 'nowhere'), nats.url, ...WHERE)).toBe(66)
    await nats.stop()
    expect(await statusOf('ship', dir, nats.url, ...WHERE, '--once', '--retry-for', '100')).toBe(69)
  })

  test('ship ends with the status of other records if the destination holds other records', async () => {
    const nats = await server()
    const [first, second] = [await threeRecords(), await threeRecords()]
    expect(await durlogProcess(['ship', first, nats.url, ...WHERE, '--once'])).toMatchObject({ code: 0 })
    expect(await durlogProcess(['ship', second, nats.url, ...WHERE, '--once'])).toMatchObject({ code: 76 })
  })
})

describe.skipIf(missingServer !== '')('with a server that accepts connections and sends nothing', () => {
  test('ship ends at the first SIGTERM, during a try and between tries', async () => {
    const dir = await threeRecords()
    for (const timeoutMs of ['100', '1000000']) {
      const silent = await speechlessServer()
      const child = startDurlog(['ship', dir, silent.url, '--stream', STREAM, '--timeout', timeoutMs])
      const ended = once(child, 'close')
      child.stderr?.resume()
      await expect.poll(() => silent.accepted()).toBeGreaterThan(0)
      child.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
    }
  })

  test('ship --once and restore end with status 130 if a signal ends them before their work is done', async () => {
    const dir = await threeRecords()
    const back = join(scratchDir(), 'back')
    for (const args of [
      ['ship', dir, '--once'],
      ['restore', back],
    ]) {
      const silent = await speechlessServer()
      const [command, folder, ...flags] = args as [string, string, ...string[]]
      const child = startDurlog([command, folder, silent.url, '--stream', STREAM, ...flags])
      const ended = once(child, 'close')
      child.stderr?.resume()
      await expect.poll(() => silent.accepted()).toBeGreaterThan(0)
      child.kill('SIGTERM')
      expect(await ended).toEqual([130, null])
    }
  })

  test('ship and restore end after --retry-for with the status of an unreachable destination', async () => {
    const silent = await speechlessServer()
    const limits = ['--stream', STREAM, '--timeout', '100', '--retry-for', '300']
    expect(await durlogProcess(['ship', await threeRecords(), silent.url, ...limits])).toMatchObject({ code: 69 })
    expect(await durlogProcess(['restore', join(scratchDir(), 'back'), silent.url, ...limits])).toMatchObject({
      code: 69,
    })
  })

  test('ship --once and restore end as soon as another server has done their work', async () => {
    const silent = await speechlessServer()
    const nats = await server()
    const urls = `${silent.url},${nats.url}`
    expect(await durlogProcess(['ship', await threeRecords(), urls, '--stream', STREAM, '--once'])).toMatchObject({
      code: 0,
    })
    // The order of the servers is random.
    for (let i = 0; i < 3; i++)
      expect(await durlogProcess(['restore', join(scratchDir(), 'back'), urls, '--stream', STREAM])).toMatchObject({
        code: 0,
      })
  })
})
