// The duration of opening, by the number of segments and after a writer was killed.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { open } from 'durlog'
import { writeInBursts } from '../dist/harness/load.js'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { median } from '../dist/harness/stats.js'
import { makeSegments, SEGMENT_BYTES, timeOpen } from '../dist/suites/recovery.js'

const MIB = 1 << 20
const FEW_SEGMENTS = 2
const MANY_SEGMENTS = 200

const bySegments = {
  name: 'open',
  figures: [
    {
      id: 'open-200',
      title: `open ${MANY_SEGMENTS} sealed segments`,
      unit: 'ms',
      on: 'ratio',
      max: 1.2,
      baseline: `${FEW_SEGMENTS} segments`,
    },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const few = join(folder, 'few')
      const many = join(folder, 'many')
      await makeSegments(few, FEW_SEGMENTS)
      await makeSegments(many, MANY_SEGMENTS)
      const times = { few: [], many: [] }
      for (let i = 0; i < 15; i += 1) {
        times.few.push((await timeOpen(few, { segmentBytes: SEGMENT_BYTES })) / 1000)
        times.many.push((await timeOpen(many, { segmentBytes: SEGMENT_BYTES })) / 1000)
      }
      return { 'open-200': { value: median(times.many), baseline: median(times.few) } }
    })
  },
}

const RECORD_BYTES = 4096
const SYNCED_RECORDS = 20
const UNSYNCED_BYTES = 16 * MIB
const BURST = 64
const KILLS = 3

/** The work of the writer that is killed, by the argument of its process. */
const WORKS = {
  async synced(log, payload) {
    for (let i = 0; i < SYNCED_RECORDS; i += 1) await log.append(payload)
  },
  async unsynced(log, payload) {
    await log.append(payload)
    const write = () => log.write(payload)
    await writeInBursts(write, () => log.drain(), UNSYNCED_BYTES / RECORD_BYTES, BURST)
  },
}

/** Measures the opening of a log whose writer was killed, in milliseconds. */
async function openAfterKillMs(dir, work) {
  return withScratch(dir, async (folder) => {
    const path = join(folder, 'log')
    const child = fork(fileURLToPath(import.meta.url), [path, work])
    await once(child, 'message')
    child.kill('SIGKILL')
    await once(child, 'exit')
    return (await timeOpen(path)) / 1000
  })
}

/** Measures an fdatasync after a write of `bytes` to a new file, in milliseconds. */
async function syncMs(dir, bytes) {
  return withScratch(dir, async (folder) => {
    const fd = openSync(join(folder, 'file'), 'w')
    writeSync(fd, makePayload(bytes))
    const start = performance.now()
    fdatasyncSync(fd)
    const elapsed = performance.now() - start
    closeSync(fd)
    return elapsed
  })
}

const afterKill = {
  name: 'open-killed',
  figures: [
    {
      id: 'open-killed-synced',
      title: 'open after kill -9, all synced, a segment of 64 MiB',
      unit: 'ms',
      max: 5,
      baseline: 'fdatasync of 4 KiB',
    },
    {
      id: 'open-killed-unsynced',
      title: 'open after kill -9, 16 MiB not synced',
      unit: 'ms',
      max: 25,
      baseline: 'fdatasync of 16 MiB',
    },
  ],
  async run({ dir }) {
    const times = { synced: [], unsynced: [], small: [], large: [] }
    for (let i = 0; i < KILLS; i += 1) {
      times.synced.push(await openAfterKillMs(dir, 'synced'))
      times.small.push(await syncMs(dir, RECORD_BYTES))
      times.unsynced.push(await openAfterKillMs(dir, 'unsynced'))
      times.large.push(await syncMs(dir, UNSYNCED_BYTES))
    }
    return {
      'open-killed-synced': { value: median(times.synced), baseline: median(times.small) },
      'open-killed-unsynced': { value: median(times.unsynced), baseline: median(times.large) },
    }
  },
}

/** The child: writes, sends a message, and waits to be killed. */
async function writeAndWait(dir, work) {
  const log = await open(dir)
  await WORKS[work](log, makePayload(RECORD_BYTES))
  process.send('written')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeAndWait(process.argv[2], process.argv[3])

export const openingGroups = [bySegments, afterKill]
