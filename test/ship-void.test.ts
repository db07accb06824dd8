/** Shipping and restoring seqs without a record, which a writer of a shared log left when it died. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { platform } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inspect, type Log, open, type ReadableLog, verify } from '../src/index.js'
import { type RestoreOptions, restore } from '../src/jetstream/index.js'
import { MARK_CHECKS } from '../src/jetstream/restore-options.js'
import { resolveShipperOptions } from '../src/ship/options.js'
import { LogShipper } from '../src/ship/shipper.js'
import type { ShipperOptions } from '../src/ship/types.js'
import { CraftedSegment, type Files, segmentName, writeFiles } from './fixtures/crafted-log.js'
import { MemoryTarget, type StoredRecord } from './fixtures/memory-target.mjs'
import { missingServer, type NatsServer } from './fixtures/nats.mjs'
import { codeOf, openUntilDone, records, scratchDir } from './fixtures/scratch.js'
import { admin, makeStream, STREAM, SUBJECT, server, shipper, stored } from './fixtures/ship.js'
import { readLog } from './format/independent-reader.mjs'

const BATCH_WRITER = fileURLToPath(new URL('fixtures/batch-writer.mjs', import.meta.url))

const segment = (salt: bigint): CraftedSegment => new CraftedSegment({ version: 2, salt })
/** Voids at the beginning, of a batch, around a segment boundary and at the end. */
const FILES: Files = new Map([
  [segmentName(0), segment(1n).void(0, 2).records(2, 3).void(4, 1).records(5, 6).void(7, 3).bytes],
  [segmentName(10), segment(2n).void(10, 1).records(11, 14).void(15, 2).marker(17).bytes],
])
const SEQS = [2, 3, 5, 6, 11, 12, 13, 14]

function craftedLog(): string {
  const dir = join(scratchDir(), 'log')
  writeFiles(dir, FILES)
  return dir
}

function shipInto(log: ReadableLog, target: MemoryTarget, options: ShipperOptions = {}): LogShipper {
  const made = new LogShipper(log, target, resolveShipperOptions(log, options))
  onTestFinished(() => made.close())
  return made
}

describe('a shipper', () => {
  test('names the seqs without a record in the next record', async () => {
    const destination: StoredRecord[] = []
    const log = await openUntilDone(craftedLog())
    await shipInto(log, new MemoryTarget(destination)).idle()
    expect(destination.map(({ seq }) => seq)).toEqual(SEQS)
    const voids = destination.flatMap(({ seq, voidFrom }) => (voidFrom === undefined ? [] : [[voidFrom, seq - 1]]))
    expect(voids).toEqual([
      [0, 1],
      [4, 4],
      [7, 10],
    ])
    expect(destination.some(({ gapFrom }) => gapFrom !== undefined)).toBe(false)
  })

  test.each([false, true])('is idle and has no lag if only such seqs follow (readOnly %s)', async (readOnly) => {
    const log = (await open(craftedLog(), { readOnly })) as ReadableLog
    onTestFinished(() => log.close())
    const destination: StoredRecord[] = []
    const shipping = shipInto(log, new MemoryTarget(destination))
    await shipping.idle()
    expect(shipping.stats()).toMatchObject({ shippedSeq: 14, lag: { records: 0, bytes: 0, ms: 0 } })
    expect(await log.cursors()).toMatchObject([{ name: 'ship', position: 17, lagRecords: 0 }])
    await shipping.close()
    // The next shipper begins after the destination's last record, and has nothing to do either.
    const again = shipInto(log, new MemoryTarget(destination))
    await again.idle()
    expect(again.stats()).toMatchObject({ shippedSeq: 14, records: 0 })
  })

  test('continues after them, at any last record of the destination', async () => {
    const log = await openUntilDone(craftedLog())
    const whole: StoredRecord[] = []
    const first = shipInto(log, new MemoryTarget(whole))
    await first.idle()
    await log.append('behind the end')
    await first.idle()
    await first.close()
    expect(whole.at(-1)).toMatchObject({ seq: 17, voidFrom: 15 })
    for (let kept = 1; kept < whole.length; kept++) {
      const destination = whole.slice(0, kept)
      const shipping = shipInto(log, new MemoryTarget(destination))
      await shipping.idle()
      await shipping.close()
      expect(destination).toEqual(whole)
    }
  })

  test('reports trimmed records as lost, and not as seqs without a record', async () => {
    const dir = craftedLog()
    const log = await openUntilDone(dir)
    const destination: StoredRecord[] = []
    const shipping = shipInto(log, new MemoryTarget(destination))
    await shipping.idle()
    await shipping.close()
    destination.splice(1)
    await log.trimBefore(10)
    const late = shipInto(log, new MemoryTarget(destination), { skipGaps: true })
    await late.idle()
    expect(destination[1]).toMatchObject({ seq: 11, gapFrom: 3, voidFrom: 10 })
  })

  test('reports damaged records of a salvaged log as lost, and not as seqs without a record', async () => {
    const dir = join(scratchDir(), 'log')
    const damaged = segment(1n).records(0, 9)
    const at = (damaged.at.get(4) as number) + 24
    damaged.bytes[at] = (damaged.bytes[at] as number) ^ 1
    writeFiles(
      dir,
      new Map([
        [segmentName(0), damaged.bytes],
        [segmentName(10), segment(2n).void(10, 1).records(11, 12).marker(13).bytes],
      ]),
    )
    const log = await openUntilDone(dir, { recovery: 'salvage' })
    const destination: StoredRecord[] = []
    await shipInto(log, new MemoryTarget(destination)).idle()
    const missing = destination.filter(({ gapFrom, voidFrom }) => gapFrom !== undefined || voidFrom !== undefined)
    expect(missing.map(({ seq, gapFrom, voidFrom }) => [seq, gapFrom, voidFrom])).toEqual([
      [5, 4, undefined],
      [11, undefined, 10],
    ])
  })
})

const options = ({ url }: NatsServer, more: Partial<RestoreOptions> = {}): RestoreOptions => ({
  servers: url,
  stream: STREAM,
  subject: SUBJECT,
  ...more,
})

async function shipAll(log: ReadableLog, nats: NatsServer): Promise<void> {
  const shipping = shipper(log, nats)
  await shipping.idle().finally(() => shipping.close())
}

async function serverWithStream(): Promise<NatsServer> {
  const nats = await server()
  await makeStream(await admin(nats))
  return nats
}

/** The result of `get` for each seq from `first` to below `next`. */
async function seqsOf(dir: string, first: number, next: number): Promise<string[]> {
  const log = await openUntilDone(dir, { readOnly: true })
  const found: string[] = []
  for (let seq = first; seq < next; seq++) {
    const code = await codeOf(log.get(seq))
    found.push(code === 'none' ? (await log.get(seq)).data.toString() : code)
  }
  return found
}

async function expectSame(dir: string, original: string, first: number, next: number): Promise<void> {
  expect(await seqsOf(dir, first, next)).toEqual(await seqsOf(original, first, next))
  const [copy, from] = [readLog(dir), readLog(original)]
  expect(copy.uuid).toBe(from.uuid)
  const within = from.records.filter(({ seq }) => seq >= first && seq < next)
  expect(copy.records.map(({ seq, timestamp }) => [seq, timestamp])).toEqual(
    within.map(({ seq, timestamp }) => [seq, timestamp]),
  )
  expect(await verify(dir)).toMatchObject({ state: 'clean', problems: [] })
}

if (missingServer !== '') process.stdout.write(`skipped: ${missingServer}\n`)

describe.skipIf(missingServer !== '')('a restored log', () => {
  test('has the same seqs without a record as the one that was shipped', async () => {
    const nats = await serverWithStream()
    const original = craftedLog()
    const log = await openUntilDone(original)
    await shipAll(log, nats)
    const dir = join(scratchDir(), 'restored')
    expect(await restore(dir, options(nats))).toMatchObject({ firstSeq: 0, nextSeq: 15, records: 8 })
    await expectSame(dir, original, 0, 15)
    // It can be appended to and shipped again.
    const copy = await openUntilDone(dir)
    expect(await copy.append('on')).toBe(15)
    expect((await records(copy.read())).map(({ seq }) => seq)).toEqual([...SEQS, 15])
  })

  test('begins and ends at the given seqs, even if these hold no record', async () => {
    const nats = await serverWithStream()
    const original = craftedLog()
    await shipAll(await openUntilDone(original), nats)
    const cases: [Partial<RestoreOptions>, first: number, next: number][] = [
      [{ from: 8 }, 8, 15],
      [{ from: 1, to: 10 }, 1, 7],
      [{ from: 2, to: 12 }, 2, 12],
      [{ from: 4, to: 5 }, 4, 4],
    ]
    for (const [given, first, next] of cases) {
      const dir = join(scratchDir(), 'restored')
      expect(await restore(dir, options(nats, given))).toMatchObject({ firstSeq: first, nextSeq: next })
      await expectSame(dir, original, first, next)
    }
  })

  test('still stops at records that are missing', async () => {
    const nats = await serverWithStream()
    await shipAll(await openUntilDone(craftedLog()), nats)
    const look = await admin(nats)
    const behind = (await stored(look)).find(({ headers }) => headers['Durlog-Seq'] === '11')
    expect(behind?.headers).toMatchObject({ 'Durlog-Void': '7' })
    await look.manager.streams.deleteMessage(STREAM, behind?.seq as number)
    await expect(restore(join(scratchDir(), 'restored'), options(nats))).rejects.toMatchObject({
      code: 'ERR_DURLOG_DESTINATION_GAP',
      lostFirst: 7,
      lostLast: 11,
    })
  })

  test('is continued after a stop, even if such seqs are at its end', async () => {
    const nats = await serverWithStream()
    const original = craftedLog()
    await shipAll(await openUntilDone(original), nats)
    const dir = join(scratchDir(), 'restored')
    const { openRestored } = await import('../src/open.js')
    const { markFolder, enterFolder } = await import('../src/support/restore-folder.js')
    const { uuid } = await inspect(original)
    enterFolder(dir, MARK_CHECKS)
    markFolder(dir, { stream: STREAM, subject: SUBJECT, uuid, first: 0 })
    // This is the state after a restore was killed before its first record.
    const begun = await openRestored(dir, { uuid, firstSeq: 0, generation: 1 }, {})
    await begun.skipTo(2, 0)
    await begun.close()
    expect(await restore(dir, options(nats))).toMatchObject({ resumed: true, nextSeq: 15, records: 8 })
    await expectSame(dir, original, 0, 15)
  })
})

describe.skipIf(missingServer !== '' || platform() !== 'linux')(
  'a log whose writers were killed within a batch',
  () => {
    /** Kills a writer within a batch; the other writer's next append makes its seqs void. */
    async function leaveVoid(log: Log): Promise<void> {
      const child = spawn(process.execPath, [BATCH_WRITER, log.dir], { stdio: ['ignore', 'pipe', 'inherit'] })
      onTestFinished(() => void child.kill('SIGKILL'))
      await once(child.stdout, 'data')
      const before = log.nextSeq
      while (log.nextSeq === before) await new Promise(setImmediate)
      child.kill('SIGKILL')
      await once(child, 'close')
      await log.append('behind it')
    }

    async function voidsOf(log: Log): Promise<number> {
      const seqs = (await records(log.read())).map(({ seq }) => seq)
      return log.nextSeq - log.firstSeq - seqs.length
    }

    test('is shipped meanwhile, and restored with the same seqs', async () => {
      const nats = await serverWithStream()
      const log = await openUntilDone(join(scratchDir(), 'log'), { shared: true })
      const shipping = shipper(log, nats)
      await log.append('the first')
      for (let kills = 0; kills < 40 && (await voidsOf(log)) === 0; kills++) await leaveVoid(log)
      expect(await voidsOf(log)).toBeGreaterThan(0)
      await shipping.idle()
      const dir = join(scratchDir(), 'restored')
      expect(await restore(dir, options(nats))).toMatchObject({ nextSeq: log.nextSeq })
      await expectSame(dir, log.dir, 0, log.nextSeq)
    })
  },
)
