/** The limits and the order of a shipper's work, without a server. */
import { execFileSync } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CommitOptions, DurableCursor, Log } from '../src/index.js'
import type { WriterLog } from '../src/open.js'
import { resolveShipperOptions } from '../src/ship/options.js'
import { LogShipper } from '../src/ship/shipper.js'
import { Trimmer } from '../src/ship/trimmer.js'
import type { ShipperOptions, ShipRecord, ShipTarget } from '../src/ship/types.js'
import { MemoryTarget, type StoredRecord } from './fixtures/memory-target.mjs'
import { scratchDir, scratchLog } from './fixtures/scratch.js'

function shipInto(log: Log, target: ShipTarget, options: ShipperOptions = {}): LogShipper {
  const made = new LogShipper(log, target, resolveShipperOptions(log, options))
  onTestFinished(() => made.close())
  return made
}

/** Trims the records before the position of the cursor "ship" and before `neededFrom`, as far as `keep` allows. */
async function keptBy(
  log: Log,
  keep: { maxAgeMs?: number; maxBytes?: number },
  neededFrom = Number.POSITIVE_INFINITY,
): Promise<void> {
  const trimmer = new Trimmer(log as WriterLog, keep, 'ship', { neededFrom })
  trimmer.acknowledged((error) => expect.unreachable(String(error)))
  await trimmer.settled()
}

async function filledLog(records: number): Promise<Log> {
  const log = await scratchLog({ segmentBytes: 64 * 1024 })
  for (let i = 0; i < records; i++) log.write(Buffer.alloc(1000, 'x'))
  await log.sync()
  return log
}

/** A target that accepts any number of records and acknowledges them when `release` is called. */
class SlowTarget implements ShipTarget {
  readonly dropsOld = false
  readonly room = 1000
  readonly mode = 'slow'
  readonly reconnects = 0
  mostRecords = 0
  mostBytes = 0
  #records = 0
  #bytes = 0
  #waiting: (() => void)[] = []

  async last(): Promise<undefined> {
    return undefined
  }

  publish(records: readonly ShipRecord[]): Promise<void> {
    const bytes = records.reduce((sum, { data }) => sum + data.length, 0)
    this.#records += records.length
    this.#bytes += bytes
    this.mostRecords = Math.max(this.mostRecords, this.#records)
    this.mostBytes = Math.max(this.mostBytes, this.#bytes)
    return new Promise((resolve) => {
      this.#waiting.push(() => {
        this.#records -= records.length
        this.#bytes -= bytes
        resolve()
      })
    })
  }

  release(): boolean {
    const [first, ...others] = this.#waiting
    this.#waiting = others
    first?.()
    return first !== undefined
  }

  async close(): Promise<void> {}
}

/** Waits until the target is full, and then acknowledges until the shipper is idle. */
async function shipSlowly(shipping: LogShipper, isFull: () => boolean, target: SlowTarget): Promise<void> {
  await expect.poll(isFull).toBe(true)
  let idle = false
  void shipping.idle().then(() => {
    idle = true
  })
  while (!idle) {
    await new Promise(setImmediate)
    target.release()
  }
}

describe('a shipper', () => {
  test('has at most maxInFlightBytes and maxInFlight without an acknowledgement', async () => {
    const byBytes = new SlowTarget()
    const few = shipInto(await filledLog(100), byBytes, { maxInFlightBytes: 10_000 })
    await shipSlowly(few, () => byBytes.mostBytes >= 10_000, byBytes)
    expect(byBytes.mostBytes).toBe(10_000)
    const byRecords = new SlowTarget()
    const seven = shipInto(await filledLog(100), byRecords, { maxInFlight: 7 })
    await shipSlowly(seven, () => byRecords.mostRecords >= 7, byRecords)
    expect(byRecords.mostRecords).toBe(7)
  })

  test('finds no gap if another shipper has shipped records that are then trimmed', async () => {
    const log = await filledLog(500)
    const stored: StoredRecord[] = []
    const target = new MemoryTarget(stored)
    const { last } = target
    target.last = async (isFirst) => {
      target.last = last
      const before = await target.last(isFirst)
      await shipInto(log, new MemoryTarget(stored), { cursor: 'other' }).idle()
      await log.trimBefore(400)
      return before
    }
    const shipping = shipInto(log, target)
    await log.append('one more')
    await shipping.idle()
    expect(log.firstSeq).toBeGreaterThan(300)
    expect(stored.map(({ seq }) => seq)).toEqual(Array.from({ length: 501 }, (_, seq) => seq))
  })

  test('shares one listener for a signal with other shippers, so Node reports no leak', async () => {
    const log = await filledLog(1)
    const { signal } = new AbortController()
    const shippers = Array.from({ length: 12 }, (_, i) =>
      shipInto(log, new MemoryTarget([]), { signal, cursor: `ship${i}` }),
    )
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await Promise.all(shippers.map((shipper) => shipper.close()))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('continues if listeners throw, and each error is an uncaught exception', () => {
    const child = fileURLToPath(new URL('ship/throwing-listener-child.mjs', import.meta.url))
    const output = execFileSync(process.execPath, [child, scratchDir()], { timeout: 60_000 }).toString()
    const uncaught = ['gap', 'retry', 'shipped']
    expect(JSON.parse(output)).toEqual({ uncaught, all: true, retries: 1, lastError: 'refused once' })
  })

  test('syncs the position of its cursor when it is closed', async () => {
    const log = await filledLog(10)
    const commits: [number, CommitOptions | undefined][] = []
    const open = log.cursor.bind(log)
    log.cursor = async (...args: Parameters<typeof open>): Promise<DurableCursor> => {
      const cursor = await open(...args)
      const commit = cursor.commit.bind(cursor)
      cursor.commit = (seq, options) => {
        commits.push([seq, options])
        return commit(seq, options)
      }
      return cursor
    }
    const shipping = shipInto(log, new MemoryTarget())
    await shipping.idle()
    await shipping.close()
    expect(commits.at(-1)).toEqual([9, { durability: 'sync' }])
  })
})

describe('keepAfterAck', () => {
  test.each([{ maxBytes: 0 }, { maxAgeMs: 0 }])('%j trims acknowledged records, and no others', async (keep) => {
    const log = await filledLog(500)
    await log.ensureCursor('ship', { from: 250 })
    await keptBy(log, keep)
    expect(log.firstSeq).toBeGreaterThan(150)
    expect(log.firstSeq).toBeLessThanOrEqual(250)
  })

  test('keeps acknowledged records that the destination reads again', async () => {
    const log = await filledLog(500)
    await log.ensureCursor('ship', { from: 400 })
    await keptBy(log, { maxBytes: 0 }, 200)
    expect(log.firstSeq).toBeGreaterThan(100)
    expect(log.firstSeq).toBeLessThanOrEqual(200)
  })

  test('keeps the records that replace acknowledged records after a truncation', async () => {
    const log = await filledLog(500)
    const cursor = await log.cursor('ship', { from: 400 })
    await log.truncateAfter(99)
    for (let i = 100; i < 600; i++) log.write(Buffer.alloc(1000, 'y'))
    await log.sync()
    await keptBy(log, { maxBytes: 0 })
    expect(log.firstSeq).toBe(0)
    await cursor.seek(300)
    await keptBy(log, { maxBytes: 0 })
    expect(log.firstSeq).toBeGreaterThan(200)
    expect(log.firstSeq).toBeLessThanOrEqual(300)
  })
})
