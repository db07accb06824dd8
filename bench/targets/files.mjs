// Appends compared with a plain file: fsync after each record, and after 5 MiB.
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { open } from 'durlog'
import { Baseline } from '../dist/harness/baselines.js'
import { timeEach } from '../dist/harness/load.js'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { median, mergeLatencies, sum } from '../dist/harness/stats.js'

const MIB = 1 << 20
const RECORD_BYTES = 4096
const ROUNDS = 6
const PER_ROUND = 40

const full = {
  name: 'full',
  figures: [
    {
      id: 'full-4096',
      title: 'append 4096 B at full, one at a time, p50',
      unit: 'us',
      on: 'ratio',
      max: 1.2,
      baseline: 'pwrite+fsync, zero-filled',
    },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const file = await Baseline.open({
        path: join(folder, 'file'),
        method: 'pwrite-fsync',
        preallocate: 'zero',
        recordBytes: RECORD_BYTES,
        fileBytes: 16 * MIB,
      })
      const log = await open(join(folder, 'log'), { durability: 'full' })
      const payload = makePayload(RECORD_BYTES)
      const parts = { file: [], log: [] }
      for (let round = 0; round <= ROUNDS; round += 1) {
        const measured = {
          file: await file.run(PER_ROUND),
          log: await timeEach(() => log.append(payload), PER_ROUND),
        }
        // The first round warms up.
        if (round > 0) for (const name of Object.keys(parts)) parts[name].push(measured[name])
      }
      await file.close()
      await log.close()
      return { 'full-4096': { value: median(mergeLatencies(parts.log)), baseline: median(mergeLatencies(parts.file)) } }
    })
  },
}

const TOTAL_BYTES = 5 * MIB
const WORKS = [
  { id: 'five-mib-steps', title: '5 MiB in 4 KiB steps, one fsync', stepBytes: RECORD_BYTES, file: 'none', max: 1 },
  { id: 'five-mib-once', title: '5 MiB at once, one fsync', stepBytes: TOTAL_BYTES, file: 'fallocate', max: 1.3 },
]
const FILES = { none: 'a growing file', fallocate: 'a fallocated file' }
const REPEATS = 5

async function fileMs(path, { stepBytes, file }) {
  const baseline = await Baseline.open({
    path,
    method: 'pwrite-fsync',
    preallocate: file,
    recordBytes: stepBytes,
    fileBytes: TOTAL_BYTES,
    syncEvery: stepBytes === TOTAL_BYTES ? 1 : 0,
  })
  const latencies = await baseline.run(TOTAL_BYTES / stepBytes)
  await baseline.close()
  return sum(latencies) / 1000
}

/** Measures a new log: one append at full, or many appends at memory and then one sync. */
async function logMs(path, { stepBytes }) {
  const log = await open(path, { durability: stepBytes === TOTAL_BYTES ? 'full' : 'memory' })
  const payload = makePayload(stepBytes)
  const start = performance.now()
  if (stepBytes === TOTAL_BYTES) {
    await log.append(payload)
  } else {
    for (let left = TOTAL_BYTES; left > 0; left -= stepBytes) await log.append(payload)
    await log.sync()
  }
  const elapsed = performance.now() - start
  await log.close()
  return elapsed
}

const fiveMib = {
  name: 'five-mib',
  figures: WORKS.map(({ id, title, file, max }) => ({
    id,
    title,
    unit: 'ms',
    on: 'ratio',
    max,
    baseline: FILES[file],
  })),
  async run({ dir }) {
    const figures = {}
    for (const work of WORKS) {
      const times = { file: [], log: [] }
      for (let i = 0; i < REPEATS; i += 1) {
        await withScratch(dir, async (folder) => {
          times.file.push(await fileMs(join(folder, 'file'), work))
          times.log.push(await logMs(join(folder, 'log'), work))
        })
      }
      figures[work.id] = { value: median(times.log), baseline: median(times.file) }
    }
    return figures
  },
}

export const fileGroups = [full, fiveMib]
