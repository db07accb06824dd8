// Acknowledgements while other work occupies libuv's pool, and the longest turn of the event loop that a log's work
// causes.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout, setImmediate as turn } from 'node:timers/promises'
import { open } from 'durlog'
import { openStreams } from 'durlog/streams'
import { occupyPool } from '../../test/fixtures/busy-pool.mjs'
import { timeEach } from '../dist/harness/load.js'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { median, quantile } from '../dist/harness/stats.js'

const ROUNDS = 20
const APPENDS = 200
const FIRST_APPENDS = 20
const PAUSE_MS = 50

const LEVELS = ['async', 'sync']

/** Measures single appends in rounds, with an idle pool and with a pool whose workers all wait for a FIFO. */
const busyPool = {
  name: 'busy-pool',
  figures: LEVELS.flatMap((level) => [
    {
      id: `busy-pool-${level}`,
      title: `append 256 B at ${level} while libuv's pool is blocked, p99`,
      unit: 'us',
      on: 'ratio',
      max: 2,
      baseline: 'idle pool',
    },
    { id: `busy-pool-${level}-p50`, title: '  p50', unit: 'us', baseline: 'idle pool' },
  ]),
  async unavailable() {
    return process.platform === 'win32' ? 'Windows has no FIFOs' : undefined
  },
  async run({ dir }) {
    const figures = {}
    for (const durability of LEVELS) {
      const { idle, busy } = await withScratch(dir, (folder) => appendsInRounds(folder, durability))
      const at = (share) => ({ value: quantile(busy, share), baseline: quantile(idle, share) })
      figures[`busy-pool-${durability}`] = at(0.99)
      figures[`busy-pool-${durability}-p50`] = at(0.5)
    }
    return figures
  },
}

/**
 * The two kinds of rounds alternate, with a pause before each: so other load and a device with a burst limit affect
 * both equally.
 */
async function appendsInRounds(folder, durability) {
  const log = await open(join(folder, 'log'), { durability })
  const payload = makePayload(256)
  const appendSome = async () => {
    await setTimeout(PAUSE_MS)
    return timeEach(() => log.append(payload), APPENDS)
  }
  const latencies = { idle: [], busy: [] }
  await appendSome()
  for (let round = 0; round < ROUNDS; round += 1) {
    const withIdlePool = async () => latencies.idle.push(...(await appendSome()))
    const withBusyPool = async () => {
      const fifos = join(folder, `${round}`)
      mkdirSync(fifos)
      const free = occupyPool(fifos)
      // The first append finds that the pool is blocked.
      await log.append(payload)
      latencies.busy.push(...(await appendSome()))
      await free()
      // The next appends find that the pool is free again.
      for (let i = 0; i < FIRST_APPENDS; i += 1) await log.append(payload)
    }
    const kinds = [withIdlePool, withBusyPool]
    for (const kind of round % 2 === 0 ? kinds : kinds.reverse()) await kind()
  }
  await log.close()
  return latencies
}

const MIB = Buffer.alloc(1 << 20, 1)
const RECORDS = Array.from({ length: 1000 }, () => makePayload(1000))
const LINES = 1_000_000
const LOOP_MS = 500

/**
 * A stream, and loops of awaited calls that settle at once, must not prevent timers from running. `max` is in
 * milliseconds. An append of 1 MiB is a single write to the page cache, which the kernel delays if the disk cannot keep
 * up.
 */
const LOOPS = {
  lines: {
    title: 'a stream splits 1,000,000 lines of 100 B',
    max: 20,
    prepare: () => Buffer.from(`${'x'.repeat(99)}\n`.repeat(LINES)),
    call: (log, lines) => new Promise((resolve) => log.writable({ split: 'lines' }).end(lines, resolve)),
    loops: 1,
  },
  'large-appends': { title: 'awaited appends of 1 MiB at memory', max: 100, call: (log) => log.append(MIB) },
  batches: { title: 'awaited batches of 1,000 records at memory', max: 50, call: (log) => log.appendBatch(RECORDS) },
  drain: { title: 'awaited drain() with nothing pending', max: 10, call: (log) => log.drain() },
  sync: { title: 'awaited sync() with nothing pending', max: 10, call: (log) => log.sync() },
}

const turns = {
  name: 'turns',
  figures: Object.entries(LOOPS).map(([id, { title, max }]) => ({
    id: `longest-turn-${id}`,
    title: `longest turn of the event loop: ${title}`,
    unit: 'ms',
    max,
  })),
  async run({ dir }) {
    const figures = {}
    for (const [id, { prepare, call, loops }] of Object.entries(LOOPS)) {
      figures[`longest-turn-${id}`] = await withScratch(dir, async (folder) => {
        const log = await open(join(folder, 'log'), { durability: 'memory', segmentBytes: 64 << 20 })
        const prepared = prepare?.()
        const value = await longestTurn(async () => {
          const end = performance.now() + LOOP_MS
          for (let i = 0; i !== loops && performance.now() < end; i += 1) await call(log, prepared)
        })
        await log.close()
        return { value }
      })
    }
    return figures
  },
}

/** Returns the longest time, in milliseconds, for which `work` delays an immediate that is due. */
export async function longestTurn(work) {
  let longest = 0
  let ended = false
  const watch = async () => {
    while (!ended) {
      const start = performance.now()
      await turn()
      longest = Math.max(longest, performance.now() - start)
    }
  }
  const watching = watch()
  await work()
  ended = true
  await watching
  return longest
}

const STREAMS = 10_000
const CHECKPOINTS = 5

const checkpointTurns = {
  name: 'checkpoint-turns',
  figures: [
    {
      id: 'longest-turn-checkpoint',
      title: 'longest turn of the event loop in a checkpoint of 10,000 streams',
      unit: 'ms',
      max: 5,
    },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const streams = await openStreams(folder, { exclusive: true, durability: 'memory', checkpointMs: 3_600_000 })
      const longest = []
      for (let round = 0; round <= CHECKPOINTS; round += 1) {
        for (let at = 0; at < STREAMS; at += 1000)
          await Promise.all(Array.from({ length: 1000 }, (_, i) => streams.stream(`session/${at + i}`).append({ at })))
        longest.push(await longestTurn(() => streams.checkpoint()))
      }
      await streams.close()
      // The first checkpoint is not counted: V8 interprets its code, and it creates the files.
      return { 'longest-turn-checkpoint': { value: median(longest.slice(1)) } }
    })
  },
}

export const responsiveGroups = [busyPool, turns, checkpointTurns]
