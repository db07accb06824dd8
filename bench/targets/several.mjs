// Several writers of one log, compared with O_APPEND and with a separate log for each; and a single shared writer,
// compared with an exclusive one.
import { join } from 'node:path'
import { open } from 'durlog'
import { prepareFile } from '../dist/harness/baselines.js'
import { Crew } from '../dist/harness/crew.js'
import { keepInFlight, timeEach, writeInBursts } from '../dist/harness/load.js'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { median } from '../dist/harness/stats.js'

const WRITERS = 4
/** `max` is the upper limit of the ratio to write(2) with O_APPEND. */
const WRITES = [
  { recordBytes: 1, operations: 100_000, max: 1 / 3 },
  { recordBytes: 128, operations: 100_000, max: 1 / 3 },
  { recordBytes: 4095, operations: 10_000, max: 1 },
]
const WARMUPS = 3
const SYNCED = { recordBytes: 256, operations: 200_000, durability: 'sync' }
const O_APPEND = 'write(2), O_APPEND'

/** Calls `use` with a new crew that has run `jobs` as a warm-up, so that its JavaScript code is compiled. */
async function withCrew(dir, kind, jobs, use) {
  const crew = kind === 'threads' ? Crew.ofThreads(WRITERS) : Crew.ofProcesses(WRITERS)
  try {
    for (let i = 0; i < WARMUPS; i += 1) {
      for (const jobOf of jobs) await timeOf(dir, crew, jobOf)
    }
    return await use(crew)
  } finally {
    crew.dismiss()
  }
}

/** Runs the jobs that `jobOf` returns on `writers` members concurrently. Returns the time in milliseconds. */
const timeOf = (dir, crew, jobOf, writers = WRITERS) =>
  withScratch(dir, async (folder) => {
    await prepareFile(join(folder, 'file'), 'none', 0)
    const { ms } = await crew.run(Array.from({ length: writers }, (_, i) => jobOf(folder, i)))
    return ms
  })

const intoOne = (load) => (folder) => ({
  ...load,
  inFlight: load.inFlight ?? 0,
  dir: join(folder, 'log'),
  shared: true,
})
const intoOwn = (load) => (folder, i) => ({ ...load, inFlight: 0, dir: join(folder, `log-${i}`) })
const appended = (load) => (folder, writer) => ({
  ...load,
  inFlight: 0,
  spec: {
    path: join(folder, 'file'),
    method: 'write-append',
    preallocate: 'none',
    recordBytes: load.recordBytes,
    fileBytes: 0,
    syncEvery: 0,
    writer,
    shared: true,
  },
})

const KINDS = ['processes', 'threads']
const idOf = (kind, { recordBytes }) => `several-${kind}-${recordBytes}`

const several = {
  name: 'several',
  figures: KINDS.flatMap((kind) =>
    WRITES.flatMap((load) => [
      {
        id: idOf(kind, load),
        title: `${WRITERS} ${kind} write ${load.recordBytes} B into one log`,
        unit: 'ns',
        on: 'ratio',
        max: load.max,
        baseline: O_APPEND,
      },
      {
        id: `${idOf(kind, load)}-own`,
        title: '  against a log for each',
        unit: 'ns',
        on: 'ratio',
        max: 1.5,
        baseline: 'a log for each',
      },
    ]),
  ),
  async run({ dir }) {
    const figures = {}
    for (const kind of KINDS) {
      for (const load of WRITES) {
        await withCrew(dir, kind, [intoOne(load), intoOwn(load)], async (crew) => {
          const nsOf = async (jobOf) => ((await timeOf(dir, crew, jobOf)) * 1e6) / (WRITERS * load.operations)
          const value = await nsOf(intoOne(load))
          figures[idOf(kind, load)] = { value, baseline: await nsOf(appended(load)) }
          figures[`${idOf(kind, load)}-own`] = { value, baseline: await nsOf(intoOwn(load)) }
        })
      }
    }
    return figures
  },
}

const severalSync = {
  name: 'several-sync',
  figures: [
    {
      id: 'several-sync',
      title: `${WRITERS} processes append 256 B at sync, 256 in flight each`,
      unit: '/s',
      on: 'ratio',
      min: 0.8,
      baseline: 'one with 1024 in flight',
    },
  ],
  async run({ dir }) {
    const each = { ...SYNCED, operations: SYNCED.operations / WRITERS, inFlight: 256 }
    const rate = (ms) => (SYNCED.operations / ms) * 1000
    return withCrew(dir, 'processes', [intoOne(each)], async (crew) => {
      const value = rate(await timeOf(dir, crew, intoOne(each)))
      const baseline = rate(await timeOf(dir, crew, intoOne({ ...SYNCED, inFlight: 1024 }), 1))
      return { 'several-sync': { value, baseline } }
    })
  },
}

const ALONE = 'exclusive'
const WRITTEN = { bytes: 128, count: 300_000, burst: 1000 }
const DEPTH = 1024
const TURN_MS = 150
const TURNS = 8
const IN_TURN = 50

/** Measures the time for a `write` in nanoseconds. */
const writeAlone = (dir, shared) =>
  withScratch(dir, async (folder) => {
    const log = await open(join(folder, 'log'), { shared })
    const payload = makePayload(WRITTEN.bytes)
    const write = (count) =>
      writeInBursts(
        () => log.write(payload),
        () => log.drain(),
        count,
        WRITTEN.burst,
      )
    await write(WRITTEN.count / 3)
    const { operations, elapsedUs } = await write(WRITTEN.count)
    await log.close()
    return (elapsedUs / operations) * 1000
  })

/** Calls `measure` for a shared and an exclusive log at `sync`, in turns. Returns the median for each. */
const inTurns = (dir, measure) =>
  withScratch(dir, async (folder) => {
    const ways = await Promise.all(
      [true, false].map(async (shared) => {
        const log = await open(join(folder, String(shared)), { shared, durability: 'sync' })
        const payload = makePayload(SYNCED.recordBytes)
        return { shared, log, append: () => log.append(payload), samples: [] }
      }),
    )
    for (let turn = 0; turn <= TURNS; turn += 1) {
      for (const { append, samples } of ways) {
        const sample = await measure(append)
        // The first turn warms up.
        if (turn > 0) samples.push(sample)
      }
    }
    for (const { log } of ways) await log.close()
    return new Map(ways.map(({ shared, samples }) => [shared, median(samples)]))
  })

/** Measures the p50 of appends, one at a time, in microseconds. */
const single = async (append) => median(await timeEach(append, IN_TURN))

/** Measures the appends per second with DEPTH in flight. */
const many = async (append) => {
  const { operations, elapsedUs } = await keepInFlight(append, DEPTH, TURN_MS)
  return (operations / elapsedUs) * 1e6
}

const sharedAlone = {
  name: 'shared-alone',
  figures: [
    {
      id: 'shared-write',
      title: 'one shared writer: write 128 B',
      unit: 'ns',
      on: 'ratio',
      max: 1.15,
      baseline: ALONE,
    },
    {
      id: 'shared-many',
      title: '  append 256 B at sync, 1024 in flight',
      unit: '/s',
      on: 'ratio',
      min: 1 / 1.15,
      baseline: ALONE,
    },
    { id: 'shared-single', title: '  one at a time, p50', unit: 'us', on: 'ratio', max: 1.15, baseline: ALONE },
  ],
  async run({ dir, run }) {
    const written = new Map()
    for (const shared of run % 2 === 0 ? [true, false] : [false, true])
      written.set(shared, await writeAlone(dir, shared))
    const figureOf = (measured) => ({ value: measured.get(true), baseline: measured.get(false) })
    return {
      'shared-write': figureOf(written),
      'shared-many': figureOf(await inTurns(dir, many)),
      'shared-single': figureOf(await inTurns(dir, single)),
    }
  },
}

export const severalGroups = [several, severalSync, sharedAlone]
