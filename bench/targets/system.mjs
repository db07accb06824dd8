// The resident memory of a process that appends to a log.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { open } from 'durlog'
import { makePayload, withScratch } from '../dist/harness/scratch.js'

const GIB = 1 << 30
const LEVELS = ['memory', 'async', 'sync', 'full']
const RSS_BYTES = 4 * GIB
const RSS_RECORD_BYTES = 1024
const RSS_DEPTH = 1024

const resident = {
  name: 'rss',
  slow: true,
  figures: LEVELS.map((level) => ({
    id: `rss-${level}`,
    title: `peak resident memory, 4 GiB of 1 KiB appended at ${level}, 1024 in flight`,
    unit: 'MiB',
    max: 200,
    baseline: 'before',
  })),
  async run({ dir }) {
    const figures = {}
    for (const level of LEVELS) {
      figures[`rss-${level}`] = await withScratch(dir, async (folder) => {
        const child = fork(fileURLToPath(import.meta.url), [join(folder, 'log'), level])
        const [result] = await once(child, 'message')
        return result
      })
    }
    return figures
  },
}

/** The child: appends, and reports its own peak memory. */
async function appendAndTell(dir, durability) {
  const before = process.resourceUsage().maxRSS / 1024
  const log = await open(dir, { durability })
  const payload = makePayload(RSS_RECORD_BYTES)
  const total = RSS_BYTES / RSS_RECORD_BYTES
  let issued = 0
  const lane = async () => {
    while (issued < total) {
      issued += 1
      await log.append(payload)
    }
  }
  await Promise.all(Array.from({ length: RSS_DEPTH }, lane))
  await log.close()
  process.send({ value: process.resourceUsage().maxRSS / 1024, baseline: before })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await appendAndTell(process.argv[2], process.argv[3])

export const systemGroups = [resident]
