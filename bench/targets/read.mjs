// Reads of a single record by its seq, compared with a pread of the same bytes at a known offset.
import { join } from 'node:path'
import { open } from 'durlog'
import { timeEach, timeEachSync, writeInBursts } from '../dist/harness/load.js'
import { RawRecords } from '../dist/harness/raw-records.js'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { median, quantile } from '../dist/harness/stats.js'

const RECORDS = 1_000_000
const MIN_BYTES = 128
const MAX_BYTES = 256
const BURST = 1000
const BATCH = 10_000
const ROUNDS = 5
const READS = 1000

const lengthOf = (seq) => MIN_BYTES + ((seq * 7919) % (MAX_BYTES - MIN_BYTES + 1))

async function fill(log) {
  const payload = makePayload(MAX_BYTES)
  const write = () => log.write(payload.subarray(0, lengthOf(log.nextSeq)))
  await writeInBursts(write, () => log.drain(), RECORDS, BURST)
}

/** Returns a function that calls `read` with a random seq of the log. */
function atRandom(read) {
  let state = 1
  return () => {
    state = (state * 48271) % 2147483647
    return read(state % RECORDS)
  }
}

async function fillInBatches(log) {
  const payload = makePayload(MAX_BYTES)
  for (let seq = 0; seq < RECORDS; seq += BATCH)
    await log.appendBatch(Array.from({ length: BATCH }, (_, i) => payload.subarray(0, lengthOf(seq + i))))
}

/** Compares records of batches with records that were appended singly: their offsets must be found equally fast. */
const getBatched = {
  name: 'get-batched',
  figures: [
    {
      id: 'get-batched',
      title: 'get at random, appended in batches of 10,000, p50',
      unit: 'us',
      on: 'ratio',
      max: 1.5,
      baseline: 'appended singly',
    },
    { id: 'get-batched-p99', title: '  p99', unit: 'us', on: 'ratio', max: 2, baseline: 'appended singly' },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const [batchedLog, singleLog] = [await open(join(folder, 'batched')), await open(join(folder, 'single'))]
      await fillInBatches(batchedLog)
      await fill(singleLog)
      const [batched, single] = [[], []]
      for (let round = 0; round <= ROUNDS; round++) {
        for (const [log, latencies] of [
          [batchedLog, batched],
          [singleLog, single],
        ]) {
          const some = await timeEach(
            atRandom((seq) => log.get(seq)),
            READS,
          )
          if (round > 0) latencies.push(...some)
        }
      }
      await Promise.all([batchedLog.close(), singleLog.close()])
      const at = (share) => ({ value: quantile(batched, share), baseline: quantile(single, share) })
      return { 'get-batched': at(0.5), 'get-batched-p99': at(0.99) }
    })
  },
}

async function checkPlaces(log, raw) {
  for (let seq = 0; seq < RECORDS; seq += RECORDS / 50) {
    const { data } = await log.get(seq)
    if (!data.equals(raw.readSync(seq))) throw new Error(`record ${seq} is not at the expected offset`)
  }
}

const get = {
  name: 'get',
  figures: [
    { id: 'get', title: 'get at random of 1,000,000 of 128 to 256 B, p50', unit: 'us', max: 50, baseline: 'fs.read' },
    { id: 'get-readonly', title: '  of a log that is open for reading only', unit: 'us', max: 15, baseline: 'fs.read' },
    { id: 'get-sync', title: 'getSync, the same, p50', unit: 'us', max: 15, baseline: 'fs.readSync' },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const path = join(folder, 'log')
      const log = await open(path)
      await fill(log)
      const reader = await open(path, { readOnly: true })
      const raw = new RawRecords(path, RECORDS, lengthOf)
      await checkPlaces(log, raw)
      const ways = {
        own: () =>
          timeEach(
            atRandom((seq) => log.get(seq)),
            READS,
          ),
        readOnly: () =>
          timeEach(
            atRandom((seq) => reader.get(seq)),
            READS,
          ),
        raw: () =>
          timeEach(
            atRandom((seq) => raw.read(seq)),
            READS,
          ),
        sync: () =>
          timeEachSync(
            atRandom((seq) => log.getSync(seq)),
            READS,
          ),
        rawSync: () =>
          timeEachSync(
            atRandom((seq) => raw.readSync(seq)),
            READS,
          ),
      }
      const medians = Object.fromEntries(Object.keys(ways).map((name) => [name, []]))
      for (let round = 0; round <= ROUNDS; round++) {
        for (const [name, time] of Object.entries(ways)) {
          const latencies = await time()
          if (round > 0) medians[name].push(median(latencies))
        }
      }
      raw.close()
      await reader.close()
      await log.close()
      const { own, readOnly, raw: read, sync, rawSync } = medians
      return {
        get: { value: median(own), baseline: median(read) },
        'get-readonly': { value: median(readOnly), baseline: median(read) },
        'get-sync': { value: median(sync), baseline: median(rawSync) },
      }
    })
  },
}

export const readGroups = [get, getBatched]
