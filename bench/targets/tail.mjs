// The slowest of many durable appends: one after another, and at a fixed rate.
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { open } from 'durlog'
import { isInstalled, peers } from '../dist/harness/peers.js'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { mergeLatencies, quantile } from '../dist/harness/stats.js'
import { FLOOR, inTurns } from './commit.mjs'

const BYTES = 4096
const ROUNDS = 40
const PER_ROUND = 100

const oneAtATime = {
  name: 'tail',
  figures: [
    { share: 0.99, name: 'p99', max: 2 },
    { share: 0.999, name: 'p99.9', max: 3 },
  ].map(({ share, name, max }) => ({
    id: `tail-${share}`,
    title: `append ${BYTES} B at sync, one at a time, ${name}`,
    unit: 'us',
    on: 'ratio',
    max,
    baseline: FLOOR,
  })),
  async run({ dir }) {
    const { floor, append } = await inTurns(dir, BYTES, ROUNDS, PER_ROUND)
    const at = (share) => ({ value: quantile(append, share), baseline: quantile(floor, share) })
    return { 'tail-0.99': at(0.99), 'tail-0.999': at(0.999) }
  },
}

const PER_SECOND = 1000
const SECONDS = 60
/** The seconds of one turn: the log and the peer alternate, so that a change of the machine's speed affects both. */
const TURN_SECONDS = 5

/**
 * Starts `count` appends, `perSecond` in a second, whether or not the earlier ones have settled. Returns for each the
 * time in microseconds from the moment at which it was due.
 */
async function atRate(append, count, perSecond) {
  const latencies = new Float64Array(count)
  const start = performance.now()
  await new Promise((resolve, reject) => {
    let started = 0
    let settled = 0
    const turn = () => {
      for (; started < count; started += 1) {
        const at = started
        const dueMs = start + (at * 1000) / perSecond
        if (performance.now() < dueMs) break
        append().then(() => {
          latencies[at] = (performance.now() - dueMs) * 1000
          settled += 1
          if (settled === count) resolve()
        }, reject)
      }
      if (started < count) setImmediate(turn)
    }
    turn()
  })
  return latencies
}

const SQLITE = peers.find(({ name }) => name === 'better-sqlite3')

const openLoop = {
  name: 'open-loop',
  slow: true,
  figures: [
    { share: 0.99, name: 'p99' },
    { share: 0.999, name: 'p99.9' },
  ].map(({ share, name }) => ({
    id: `open-loop-${share}`,
    title: `append ${BYTES} B durably, ${PER_SECOND.toLocaleString('en-US')} a second for ${SECONDS} s, ${name}`,
    unit: 'us',
    on: 'ratio',
    max: 0.5,
    baseline: SQLITE.name,
  })),
  async unavailable() {
    return isInstalled(SQLITE) ? undefined : 'npm ci in bench/peers first'
  },
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const log = await open(join(folder, 'log'), { durability: 'sync' })
      const peer = await SQLITE.open(folder, true)
      const payload = makePayload(BYTES)
      const ways = { own: () => log.append(payload), peer: () => peer.append(payload) }
      const parts = { own: [], peer: [] }
      for (const append of Object.values(ways)) await atRate(append, PER_SECOND, PER_SECOND)
      for (let second = 0; second < SECONDS; second += TURN_SECONDS) {
        for (const [name, append] of Object.entries(ways)) {
          parts[name].push(await atRate(append, TURN_SECONDS * PER_SECOND, PER_SECOND))
        }
      }
      await log.close()
      await peer.close()
      const [own, baseline] = [parts.own, parts.peer].map(mergeLatencies)
      const at = (share) => ({ value: quantile(own, share), baseline: quantile(baseline, share) })
      return { 'open-loop-0.99': at(0.99), 'open-loop-0.999': at(0.999) }
    })
  },
}

export const tailGroups = [oneAtATime, openLoop]
