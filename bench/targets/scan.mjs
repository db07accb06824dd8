// Reads of a whole log from the page cache, compared with reads of its files.
import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { open } from 'durlog'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { median } from '../dist/harness/stats.js'

const MIB = 1 << 20
const LOG_BYTES = 128 * MIB
const STEP_BYTES = MIB
const ROUNDS = 2
const PER_BATCH = 256

/** The ways to read a log. Each returns the number of records that it has read. */
const WAYS = {
  async await(log) {
    let records = 0
    for await (const _ of log.read()) records += 1
    return records
  },
  async buffered(log) {
    let records = 0
    const reader = log.read()
    while ((reader.nextBuffered() ?? (await reader.next()).value) !== undefined) records += 1
    return records
  },
  async batches(log) {
    let records = 0
    for await (const batch of log.read().batches()) records += batch.length
    return records
  },
}

const FIGURES = [
  { bytes: 128, way: 'await', title: 'scan of 128 B, for await', unit: 'MB/s', min: 700 },
  { bytes: 128, way: 'buffered', title: '  nextBuffered', unit: 'MB/s' },
  { bytes: 128, way: 'batches', title: '  batches()', unit: 'records/s', min: 10_000_000 },
  { bytes: 1024, way: 'await', title: 'scan of 1 KiB, for await', unit: 'MB/s', min: 1000 },
  { bytes: 1024, way: 'buffered', title: '  nextBuffered', unit: 'MB/s' },
  { bytes: 65536, way: 'await', title: 'scan of 64 KiB, for await', unit: 'MB/s', min: 2000 },
  { bytes: 65536, way: 'buffered', title: '  nextBuffered', unit: 'MB/s' },
]
const idOf = ({ bytes, way }) => `scan-${bytes}-${way}`

async function fill(log, bytes) {
  const payload = makePayload(bytes)
  const perBatch = Math.min(PER_BATCH, LOG_BYTES / bytes)
  const list = Array.from({ length: perBatch }, () => payload)
  for (let left = LOG_BYTES / bytes; left > 0; left -= perBatch) await log.appendBatch(list)
}

/** Reads the log's files in steps of 1 MiB. Returns the number of bytes. */
function readFiles(dir) {
  const buffer = Buffer.allocUnsafe(STEP_BYTES)
  let bytes = 0
  for (const name of readdirSync(dir).filter((each) => each.endsWith('.seg'))) {
    const fd = openSync(join(dir, name), 'r')
    for (let read = 1; read > 0; bytes += read) read = readSync(fd, buffer, 0, STEP_BYTES, null)
    closeSync(fd)
  }
  return bytes
}

/** Measures the records per second of each way, and the bytes per second of the files. */
async function measure(dir, bytes, ways) {
  return withScratch(dir, async (folder) => {
    const path = join(folder, 'log')
    const log = await open(path, { durability: 'memory' })
    await fill(log, bytes)
    await log.sync()
    const rates = new Map([...ways, 'files'].map((way) => [way, []]))
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const [way, list] of rates) {
        const start = performance.now()
        const count = way === 'files' ? readFiles(path) : await WAYS[way](log)
        const rate = (count / (performance.now() - start)) * 1000
        if (way !== 'files' && count !== LOG_BYTES / bytes) throw new Error(`${count} records of ${LOG_BYTES / bytes}`)
        // The first round warms up.
        if (round > 0) list.push(rate)
      }
    }
    await log.close()
    return Object.fromEntries([...rates].map(([way, list]) => [way, median(list)]))
  })
}

const scan = {
  name: 'scan',
  figures: FIGURES.map((figure) => ({
    id: idOf(figure),
    title: figure.title,
    unit: figure.unit,
    min: figure.min,
    baseline: 'fs.readSync',
  })),
  async run({ dir }) {
    const figures = {}
    for (const bytes of new Set(FIGURES.map((figure) => figure.bytes))) {
      const own = FIGURES.filter((figure) => figure.bytes === bytes)
      const rates = await measure(
        dir,
        bytes,
        own.map(({ way }) => way),
      )
      for (const figure of own) {
        const inRecords = figure.unit === 'records/s'
        figures[idOf(figure)] = {
          value: inRecords ? rates[figure.way] : (rates[figure.way] * bytes) / 1e6,
          baseline: inRecords ? rates.files / bytes : rates.files / 1e6,
        }
      }
    }
    return figures
  },
}

export const scanGroups = [scan]
