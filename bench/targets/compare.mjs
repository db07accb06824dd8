// Compares durlog with its alternatives at the same durability.

import { join } from 'node:path'
import { open } from 'durlog'
import { keepInFlight, timeEach } from '../dist/harness/load.js'
import { isInstalled, peers } from '../dist/harness/peers.js'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { median } from '../dist/harness/stats.js'

const BYTES = 256
const DEPTH = 1024
const MILLIS = 700

const durlog = {
  name: 'durlog',
  async open(folder) {
    const log = await open(join(folder, 'log'), { durability: 'sync' })
    return { append: (data) => log.append(data), close: () => log.close() }
  },
}

/** Measures the appends per second with DEPTH in flight, and the p50 of one append at a time. */
async function measure(dir, contender) {
  return withScratch(dir, async (folder) => {
    const log = await contender.open(folder, true)
    const payload = makePayload(BYTES)
    const append = () => log.append(payload)
    await keepInFlight(append, DEPTH, 150)
    const { operations, elapsedUs } = await keepInFlight(append, DEPTH, MILLIS)
    const latencies = await timeEach(append, 300)
    await log.close()
    return { rate: (operations / elapsedUs) * 1e6, p50: median(latencies) }
  })
}

const installed = peers.filter(isInstalled)

const versus = {
  name: 'versus',
  figures: [
    ...installed.flatMap(({ name }) => [
      {
        id: `versus-rate-${name}`,
        title: `append 256 B durably, ${DEPTH} in flight`,
        unit: '/s',
        on: 'ratio',
        min: 2.5,
        baseline: name,
      },
      {
        id: `versus-p50-${name}`,
        title: 'append 256 B durably, one at a time, p50',
        unit: 'us',
        on: 'ratio',
        max: 1,
        baseline: name,
      },
    ]),
    {
      id: 'versus-best',
      title: `append 256 B durably, ${DEPTH} in flight, against the best npm peer`,
      unit: '/s',
      on: 'ratio',
      min: 2.5,
      baseline: 'best',
    },
  ],
  async unavailable() {
    return installed.some(({ name }) => name === 'lmdb') ? undefined : 'npm ci in bench/peers first'
  },
  async run({ dir }) {
    const figures = {}
    const own = await measure(dir, durlog)
    let best = 0
    for (const peer of installed) {
      const { rate, p50 } = await measure(dir, peer)
      if (peer.module !== undefined) best = Math.max(best, rate)
      figures[`versus-rate-${peer.name}`] = { value: own.rate, baseline: rate }
      figures[`versus-p50-${peer.name}`] = { value: own.p50, baseline: p50 }
    }
    figures['versus-best'] = { value: own.rate, baseline: best }
    return figures
  },
}

export const compareGroups = [versus]
