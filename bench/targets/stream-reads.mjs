// Reads of streams: a long stream, the first read of a session in a process, a follower, and a folder of many streams.
import { execFile, execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openStreams } from 'durlog/streams'
import { withScratch } from '../dist/harness/scratch.js'
import { median } from '../dist/harness/stats.js'
import { longestTurn } from './responsive.mjs'
import { jsonOf } from './streams.mjs'

const GIB = 1 << 30
const LONG_RECORD_BYTES = 65_536
const SESSION_RECORDS = 10_000
const MANY_STREAMS = 100_000
const FOLLOWED = 500
const BLOCK_BYTES = 4096

async function readAll(stream) {
  let bytes = 0
  for await (const { value } of stream.read()) bytes += value.length ?? 0
  return bytes
}

/** Work for a separate process: `node stream-reads.mjs WORK DIR` prints its figures as JSON. */
const works = {
  async long(dir) {
    const streams = await openStreams(dir, { encoding: 'buffer', exclusive: true })
    const stream = streams.stream('long')
    const times = []
    for (let i = 0; i < 4; i += 1) {
      const start = performance.now()
      const bytes = await readAll(stream)
      times.push(bytes / 1e3 / (performance.now() - start))
    }
    await streams.close()
    return { megabytes: Math.max(...times) }
  },
  async session(dir) {
    const streams = await openStreams(dir, { exclusive: true })
    const start = performance.now()
    let records = 0
    for await (const _ of streams.stream('session').read()) records += 1
    const ms = performance.now() - start
    if (records !== SESSION_RECORDS) throw new Error(`read ${records} records`)
    await streams.close()
    return { ms }
  },
  async many(dir) {
    // The first open of a process also loads the modules of an owner.
    await withScratch(dirname(dir), async (empty) => (await openStreams(empty, { exclusive: true })).close())
    const used = () => {
      globalThis.gc()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }
    const before = used()
    const start = performance.now()
    let streams
    const turn = await longestTurn(async () => {
      streams = await openStreams(dir, { exclusive: true })
    })
    const ms = performance.now() - start
    const memory = (used() - before) / MANY_STREAMS
    await streams.close()
    return { ms, turn, memory }
  },
}

async function inProcess(work, dir) {
  const program = fileURLToPath(import.meta.url)
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, work, dir])
  return JSON.parse(stdout)
}

const long = {
  name: 'streams-read',
  slow: true,
  figures: [{ id: 'streams-read', title: 'read a stream of 1 GiB in records of 64 KiB', unit: 'MB/s', min: 1000 }],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const streams = await openStreams(folder, { encoding: 'buffer', exclusive: true, durability: 'memory' })
      const stream = streams.stream('long')
      const value = Buffer.alloc(LONG_RECORD_BYTES, 1)
      const parts = Array.from({ length: 64 }, () => value)
      for (let bytes = 0; bytes < GIB; bytes += 64 * LONG_RECORD_BYTES) await stream.appendAll(parts)
      await streams.close()
      return { 'streams-read': { value: (await inProcess('long', folder)).megabytes } }
    })
  },
}

const session = {
  name: 'streams-resume',
  figures: [
    {
      id: 'streams-resume',
      title: `first read of a session of ${SESSION_RECORDS.toLocaleString('en-US')} records in a process`,
      unit: 'ms',
      max: 20,
    },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const streams = await openStreams(folder, { exclusive: true })
      const value = jsonOf(256)
      for (let i = 0; i < 10; i += 1)
        await streams.stream('session').appendAll(Array.from({ length: SESSION_RECORDS / 10 }, () => value))
      await streams.close()
      const times = []
      for (let i = 0; i < 5; i += 1) times.push((await inProcess('session', folder)).ms)
      return { 'streams-resume': { value: median(times) } }
    })
  },
}

const follow = {
  name: 'streams-follow',
  figures: [
    { id: 'streams-follow', title: 'a follower has the record after the acknowledgement, p50', unit: 'ms', max: 1 },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const streams = await openStreams(folder, { exclusive: true })
      const stream = streams.stream('followed')
      const value = jsonOf(256)
      const received = []
      await stream.append(value)
      const following = (async () => {
        for await (const { seq } of stream.read({ follow: true })) {
          received[seq] = performance.now()
          if (seq === FOLLOWED) return
        }
      })()
      const acknowledged = []
      for (let i = 0; i < FOLLOWED; i += 1) {
        const { seq } = await stream.append(value)
        acknowledged[seq] = performance.now()
      }
      await following
      await streams.close()
      const delays = acknowledged.map((at, seq) => Math.max(0, received[seq] - at)).slice(1)
      return { 'streams-follow': { value: median(delays) } }
    })
  },
}

const many = {
  name: 'streams-many',
  slow: true,
  figures: [
    { id: 'streams-many-open', title: 'open a folder of 100,000 streams', unit: 'ms', max: 1000 },
    { id: 'streams-many-turn', title: '  longest turn of the event loop', unit: 'ms', max: 5 },
    { id: 'streams-many-memory', title: '  memory of each', unit: 'B', max: 1024 },
    { id: 'streams-many-disk', title: '  disk space of each, without the block of its file', unit: 'B', max: 1024 },
  ],
  async unavailable() {
    return process.platform === 'win32' ? 'it needs du' : undefined
  },
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const streams = await openStreams(folder, { exclusive: true, durability: 'memory' })
      const value = jsonOf(256)
      for (let from = 0; from < MANY_STREAMS; from += 1000)
        await Promise.all(Array.from({ length: 1000 }, (_, i) => streams.stream(`session/${from + i}`).append(value)))
      await streams.close()
      const times = []
      const turns = []
      let memory = 0
      for (let i = 0; i < 3; i += 1) {
        const opened = await inProcess('many', folder)
        times.push(opened.ms)
        turns.push(opened.turn)
        memory = opened.memory
      }
      const [blocks] = execFileSync('du', ['-s', '-B1', join(folder)], { encoding: 'utf8' }).split('\t')
      return {
        'streams-many-open': { value: median(times) },
        'streams-many-turn': { value: median(turns) },
        'streams-many-memory': { value: memory },
        'streams-many-disk': { value: Number(blocks) / MANY_STREAMS - BLOCK_BYTES },
      }
    })
  },
}

export const streamReadGroups = [long, session, follow, many]

const [program, work, dir] = process.argv.slice(1)
if (program === fileURLToPath(import.meta.url)) console.log(JSON.stringify(await works[work](dir)))
