/** Standbys and former writers that are killed after any change of a file. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import * as archives from '../../src/archive/index.js'
import { open, type ReplicateTo } from '../../src/index.js'
import * as subjects from '../../src/jetstream/index.js'
import { openExclusive } from '../../src/streams/api/open-streams.js'
import { store } from '../fixtures/archive.js'
import { runWithSnapshots, shimProblem } from '../fixtures/fault-shim.js'
import { missingServer, type NatsServer, startServer } from '../fixtures/nats.mjs'
import { scratchDir, texts } from '../fixtures/scratch.js'
import { EVERY_VARIANT } from '../fixtures/variants.js'

const CHILD = fileURLToPath(new URL('../fixtures/replication-child.mjs', import.meta.url))
const SMALL = 2 ** 16
/** The check uses one of so many copies of a folder. */
const STEP = EVERY_VARIANT ? 1 : 24

interface Place {
  subpath: string
  access: object
  replicate(leaseMs?: number): ReplicateTo
  takeOver(dir: string): Promise<unknown>
  rejoin(dir: string, into: string): Promise<{ nextSeq: number; records: number }>
}

let server: Promise<NatsServer> | undefined
let places = 0
afterAll(async () => {
  await (await server)?.kill()
})

const DESTINATIONS: Record<string, () => Promise<Place>> = {
  'a bucket': async () => {
    const { access } = await store()
    return {
      subpath: 'archive',
      access: { ...access, pollMs: 20 },
      replicate: (leaseMs) => archives.archiveTo({ ...access, flushMs: 60_000, leaseMs }),
      takeOver: (dir) => archives.takeOver(dir, { ...access, force: true }),
      rejoin: (dir, into) => archives.rejoin(dir, { ...access, into }),
    }
  },
  'a stream': async () => {
    const { mkdtempSync } = await import('node:fs')
    const { tmpdir } = await import('node:os')
    server ??= startServer(mkdtempSync(join(tmpdir(), 'durlog-nats-')), '')
    const access = { servers: (await server).url, stream: `K${++places}` }
    return {
      subpath: 'jetstream',
      access: { ...access, segmentBytes: SMALL },
      replicate: (leaseMs) => subjects.jetstream({ ...access, leaseMs }),
      takeOver: (dir) => subjects.takeOver(dir, { ...access, segmentBytes: SMALL, force: true }),
      rejoin: (dir, into) => subjects.rejoin(dir, { ...access, into }),
    }
  },
}

interface Writer {
  append(text: string, durability?: 'replicated'): Promise<unknown>
  values(): Promise<string[]>
  close(): Promise<void>
}

/** A log, or a stream of a folder of streams. */
const KINDS: Record<string, (dir: string, replicate?: ReplicateTo) => Promise<Writer>> = {
  'a log': async (dir, replicate) => {
    const log = await open(dir, { segmentBytes: SMALL, ...(replicate && { replicate }) })
    return {
      append: (text, durability) => log.append(text, { ...(durability && { durability }) }),
      values: () => texts(log.read()),
      close: () => log.close(),
    }
  },
  streams: async (dir, replicate) => {
    const streams = await openExclusive(
      dir,
      { exclusive: true, ...(replicate && { replicate }) },
      { logSegmentBytes: SMALL },
    )
    const stream = streams.stream('s')
    await stream.create()
    return {
      append: (text, durability) => stream.append(text, { ...(durability && { durability }) }),
      values: async () => {
        const found: string[] = []
        for await (const { value } of stream.read()) found.push(value as string)
        return found
      },
      close: () => streams.close(),
    }
  },
}

/** The numbers of the copies that are used, with the last one. */
function chosenOf(copies: string): number[] {
  const { length } = readdirSync(copies)
  return Array.from({ length }, (_, at) => at).filter((at) => at % STEP === 0 || at === length - 1)
}

const value = (number: number, by = ''): string => `${number}${by} ${'x'.repeat(9000)}`

async function appendAll(writer: Writer, values: readonly string[]): Promise<void> {
  for (const one of values) await writer.append(one, 'replicated')
}

/** Takes over in `dir`, which a kill has left, and appends `next`. Returns the values before that. */
async function takeOverIn(
  dir: string,
  { place, openAt, next }: { place: Place; openAt: (typeof KINDS)[string]; next: string },
): Promise<string[]> {
  await place.takeOver(dir)
  const writer = await openAt(dir, place.replicate())
  try {
    const found = await writer.values()
    await writer.append(next, 'replicated')
    return found
  } finally {
    await writer.close()
  }
}

const cases = Object.keys(DESTINATIONS).flatMap((to) => Object.keys(KINDS).map((kind) => ({ to, kind })))

describe.skipIf(shimProblem('snapshot_shim') !== '').each(cases)('$kind that is replicated to $to', ({ to, kind }) => {
  const isMissing = to === 'a stream' && missingServer !== ''
  const openAt = KINDS[kind] as (typeof KINDS)[string]

  test.skipIf(isMissing)('is taken over by a standby although it was killed after any change of a file', async () => {
    const place = await (DESTINATIONS[to] as (typeof DESTINATIONS)[string])()
    const scratch = scratchDir()
    const first = await openAt(join(scratch, 'a'), place.replicate(300))
    const expected = Array.from({ length: 20 }, (_, number) => value(number))
    await appendAll(first, expected)
    await first.close()
    const copies = join(scratch, 'copies')
    const dir = join(scratch, 'b')
    const child = await runWithSnapshots(
      [CHILD, place.subpath, 'standBy', dir, JSON.stringify(place.access)],
      dir,
      copies,
    )
    expect(child).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(copies).length).toBeGreaterThan(30)
    for (const at of chosenOf(copies)) {
      const copy = join(copies, `${at}`)
      const next = value(expected.length)
      // A copy that has taken over is a former writer now, because an earlier one has taken over after it.
      const found = await takeOverIn(copy, { place, openAt, next }).catch(async (error) => {
        if (error.code !== 'ERR_DURLOG_NOT_EMPTY') throw error
        expect([at, error.code]).toEqual([at, 'ERR_DURLOG_NOT_EMPTY'])
        await place.rejoin(copy, `${copy}-kept`)
        expect([at, existsSync(`${copy}-kept`)]).toEqual([at, kind === 'streams'])
        return takeOverIn(copy, { place, openAt, next })
      })
      expect([at, found]).toEqual([at, expected])
      expected.push(next)
    }
  })

  test.skipIf(isMissing)('is rejoined although it was killed after any change of a file', async () => {
    const place = await (DESTINATIONS[to] as (typeof DESTINATIONS)[string])()
    const scratch = scratchDir()
    const root = join(scratch, 'root')
    mkdirSync(root)
    const first = await openAt(join(root, 'a'), place.replicate())
    const expected = Array.from({ length: 10 }, (_, number) => value(number))
    await appendAll(first, expected)
    await first.close()
    const next = value(expected.length)
    await takeOverIn(join(scratch, 'b'), { place, openAt, next })
    const former = await openAt(join(root, 'a'))
    const own = [value(10, ' of a'), value(11, ' of a')]
    for (const one of own) await former.append(one)
    const all = await former.values()
    await former.close()
    expected.push(next)
    const copies = join(scratch, 'copies')
    const options = { ...place.access, into: join(root, 'kept'), pollMs: undefined, segmentBytes: undefined }
    const args = [place.subpath, 'rejoin', join(root, 'a'), JSON.stringify(options)]
    const child = await runWithSnapshots([CHILD, ...args], root, copies)
    expect(child).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(copies).length).toBeGreaterThan(kind === 'streams' ? 2 : 10)
    for (const at of chosenOf(copies)) {
      const [dir, into] = [join(copies, `${at}`, 'a'), join(copies, `${at}`, 'kept')]
      expect([at, await place.rejoin(dir, into)]).toMatchObject([at, { records: 2 }])
      const kept = await openAt(into)
      expect([at, await kept.values()]).toEqual([at, kind === 'streams' ? all : own])
      await kept.close()
      const later = value(expected.length)
      expect([at, await takeOverIn(dir, { place, openAt, next: later })]).toEqual([at, expected])
      expected.push(later)
    }
  })
})
