import { readdirSync, readlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { chdir, cwd, platform } from 'node:process'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { type Log, open, type ReadableLog, type Strategy } from '../src/index.js'
import { codeOf, openUntilDone, scratchDir } from './fixtures/scratch.js'

const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
const SMALL = { segmentBytes: 65536 } as const

const textAt = async (log: ReadableLog, seq: number): Promise<string> => (await log.get(seq)).data.toString()

/** The code of the error that `call` throws. */
function thrownBy(call: () => unknown): string {
  try {
    call()
    return 'none'
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('a get of an empty log says that it has no record', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'))
  await expect(log.get(0)).rejects.toThrow('the log has no record; got 0')
  expect(() => log.getSync(0)).toThrow('the log has no record; got 0')
})

test('a loop of gets lets the event loop turn', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'))
  await log.append('again')
  let turned = false
  setImmediate(() => {
    turned = true
  })
  while (!turned) await log.get(0)
})

async function appendTexts(log: Log, count: number, text: string): Promise<void> {
  const first = log.nextSeq
  await Promise.all(Array.from({ length: count }, (_, i) => log.append(`${text} ${first + i}`)))
}

/** Files below `dir` that this process has open. */
function openFilesBelow(dir: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(dir) ? [path] : []
    } catch {
      return [] // the descriptor that listed them
    }
  })
}

describe('get and getSync', () => {
  test.each(STRATEGIES)(
    'give every record of a log that rotates, to its writer and to a reader (%s)',
    async (strategy) => {
      const dir = join(scratchDir(), 'log')
      const log = await openUntilDone(dir, { ...SMALL, strategy })
      await appendTexts(log, 3000, 'some record')
      const reader = await openUntilDone(dir, { readOnly: true })
      for (let i = 0; i < 3000; i++) {
        const seq = (i * 7919) % 3000
        expect(await textAt(log, seq)).toBe(`some record ${seq}`)
        expect(log.getSync(seq).data.toString()).toBe(`some record ${seq}`)
        if (i % 10 > 0) continue
        expect(await textAt(reader, seq)).toBe(`some record ${seq}`)
        expect(reader.getSync(seq).seq).toBe(seq)
      }
      expect(log.getSync(7).timestamp).toBe((await log.get(7)).timestamp)
    },
  )

  test('a record that is in memory is read while later ones wait for the device', async () => {
    const log = await openUntilDone(scratchDir(), { strategy: 'mmap' })
    const seq = log.write('written')
    const later = log.append('later')
    expect(log.getSync(seq).data.toString()).toBe('written')
    expect(await textAt(log, seq)).toBe('written')
    await later
  })

  test('getSync refuses the same calls as get, with the same codes', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir)
    await log.append('a')
    const reader = await openUntilDone(dir, { readOnly: true })
    for (const each of [log, reader]) {
      expect(thrownBy(() => each.getSync(1))).toBe('ERR_DURLOG_OUT_OF_RANGE')
      expect(thrownBy(() => each.getSync(-1))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
      await each.close()
      expect(thrownBy(() => each.getSync(0))).toBe('ERR_DURLOG_CLOSED')
    }
  })

  test('many concurrent calls each get their own record', async () => {
    const log = await openUntilDone(scratchDir(), SMALL)
    await appendTexts(log, 2000, 'one of many')
    const records = await Promise.all(Array.from({ length: 2000 }, (_, i) => log.get((i * 7919) % 2000)))
    for (const { seq, data } of records) expect(data.toString()).toBe(`one of many ${seq}`)
  })

  test('after process.chdir a log that was opened by a relative path reads its own records', async () => {
    const before = cwd()
    const folder = scratchDir()
    const log = await openUntilDone(relative(before, join(folder, 'log')))
    const reader = await openUntilDone(relative(before, join(folder, 'log')), { readOnly: true })
    await log.append('here')
    try {
      chdir(folder)
      expect(await textAt(log, 0)).toBe('here')
      expect(await textAt(reader, 0)).toBe('here')
    } finally {
      chdir(before)
    }
  })
})

describe('get during changes', () => {
  test('a trim removes records for the writer and for readers, and leaves no removed file open', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir, { ...SMALL, preallocate: 'none' })
    await appendTexts(log, 4000, 'to be trimmed')
    const reader = await openUntilDone(dir, { readOnly: true })
    for (let seq = 0; seq < 4000; seq += 100) {
      await log.get(seq)
      await reader.get(seq)
    }
    const first = await log.trimBefore(3000)
    expect(first).toBeGreaterThan(0)
    for (const each of [log, reader]) {
      expect(await codeOf(each.get(first - 1))).toBe('ERR_DURLOG_OUT_OF_RANGE')
      expect(thrownBy(() => each.getSync(0))).toBe('ERR_DURLOG_OUT_OF_RANGE')
      expect(await textAt(each, first)).toBe(`to be trimmed ${first}`)
    }
    if (platform === 'linux') expect(openFilesBelow(dir).filter((path) => path.endsWith('(deleted)'))).toEqual([])
  })

  test.each(STRATEGIES)(
    'reads during truncations return the record of that moment, or ERR_DURLOG_OUT_OF_RANGE (%s)',
    async (strategy) => {
      const dir = join(scratchDir(), 'log')
      const log = await openUntilDone(dir, { ...SMALL, strategy, durability: 'memory' })
      const told = new Set<string>()
      for (let round = 0; round < 10; round++) {
        await appendTexts(log, 1500, `round ${round} record`)
        let settled = false
        const cut = log.truncateAfter(499).finally(() => {
          settled = true
        })
        const read = async (seq: number): Promise<void> => {
          const text = await textAt(log, seq).catch((error) => error.code as string)
          told.add(text === `round ${round} record ${seq}` ? 'the record' : text)
        }
        for (let at = 0; !settled; at++)
          await Promise.all(Array.from({ length: 20 }, (_, i) => read((at * 7919 + i * 101) % 1500)))
        expect(await cut).toBe(500)
        expect(await codeOf(log.get(500))).toBe('ERR_DURLOG_OUT_OF_RANGE')
        await appendTexts(log, 1, `after ${round}`)
        expect(await textAt(log, 500)).toBe(`after ${round} 500`)
        expect(log.getSync(500).data.toString()).toBe(`after ${round} 500`)
        await log.truncateAfter(-1)
      }
      // The second result occurs only if a read ran during the truncation.
      expect(told).toContain('the record')
      for (const each of told) expect(['the record', 'ERR_DURLOG_OUT_OF_RANGE']).toContain(each)
    },
  )

  test('during a truncation getSync is refused with ERR_DURLOG_BACKPRESSURE, and get waits', async () => {
    const log = await openUntilDone(scratchDir())
    await appendTexts(log, 10, 'record')
    const cut = log.truncateAfter(4)
    expect(thrownBy(() => log.getSync(2))).toBe('ERR_DURLOG_BACKPRESSURE')
    const [kept, gone] = [textAt(log, 2), codeOf(log.get(7))]
    expect(await cut).toBe(5)
    expect([await kept, await gone]).toEqual(['record 2', 'ERR_DURLOG_OUT_OF_RANGE'])
    expect(log.getSync(2).seq).toBe(2)
  })
})

describe('get and close', () => {
  test.skipIf(platform !== 'linux')('pending reads end, and after close no file is open (seen in /proc)', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir, SMALL)
    await appendTexts(log, 4000, 'record')
    const reader = await openUntilDone(dir, { readOnly: true })
    for (let seq = 0; seq < 4000; seq += 100) await log.get(seq)
    expect(openFilesBelow(dir).length).toBeGreaterThan(3)
    const reads = [log, reader].flatMap((each) => Array.from({ length: 50 }, (_, i) => textAt(each, i * 80)))
    await Promise.all([log.close(), reader.close()])
    expect(openFilesBelow(dir)).toEqual([])
    expect(await Promise.all(reads)).toEqual(
      [0, 1].flatMap(() => Array.from({ length: 50 }, (_, i) => `record ${i * 80}`)),
    )
    expect(await codeOf(log.get(0))).toBe('ERR_DURLOG_CLOSED')
  })

  test('a worker that is terminated while it reads leaves no file open and the process alive', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir, SMALL)
    await appendTexts(log, 2000, 'record')
    await log.close()
    for (let round = 0; round < 5; round++) {
      const worker = new Worker(new URL('./fixtures/reading-worker.mjs', import.meta.url), { workerData: dir })
      await new Promise((resolve, reject) => {
        worker.once('message', resolve)
        worker.once('error', reject)
      })
      await worker.terminate()
    }
    if (platform === 'linux') expect(openFilesBelow(dir)).toEqual([])
    const again = await open(dir)
    expect(await textAt(again, 1999)).toBe('record 1999')
    await again.close()
  })
})

test('a reader that is closed twice while it gets a record settles both', async () => {
  const dir = scratchDir()
  const writer = await openUntilDone(dir)
  await writer.append('record')
  const log = await open(dir, { readOnly: true })
  const [{ data }] = await Promise.all([log.get(0), log.close(), log.close()])
  expect(data.toString()).toBe('record')
})
