// Appends to many streams of one folder while checkpoints run, compared with one plain log and with alternatives.
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'durlog'
import { openStreams } from 'durlog/streams'
import { keepInFlight } from '../dist/harness/load.js'
import { isInstalled } from '../dist/harness/peers.js'
import { withScratch } from '../dist/harness/scratch.js'
import { median } from '../dist/harness/stats.js'
import { streamPeers } from '../dist/harness/stream-peers.js'

const DEPTH = 1024
const ROUNDS = 8
const ROUND_MS = 900
const PEER_MS = 2000
const PEER_STREAMS = 1000

/** Returns an object whose JSON has `bytes` bytes. */
export function jsonOf(bytes) {
  const message = { type: 'message', role: 'user', text: '' }
  return { ...message, text: 'x'.repeat(bytes - JSON.stringify(message).length) }
}

const VALUE = jsonOf(256)

/** A contender that appends to `count` streams in turn, all of which exist and have a file. */
async function manyStreams(dir, count) {
  const streams = await openStreams(dir, { exclusive: true })
  const handles = Array.from({ length: count }, (_, i) => streams.stream(`session/${i}`))
  await Promise.all(handles.map((stream) => stream.append(VALUE)))
  await streams.checkpoint()
  let checkpoints = 0
  streams.on('checkpoint', () => {
    checkpoints += 1
  })
  let next = 0
  const append = () => {
    const stream = handles[next]
    next = next + 1 === count ? 0 : next + 1
    return stream.append(VALUE)
  }
  return { append, close: () => streams.close(), checkpoints: () => checkpoints }
}

async function plainLog(dir) {
  const log = await open(dir, { durability: 'sync', encoding: 'json' })
  return { append: () => log.append(VALUE), close: () => log.close() }
}

/**
 * Measures the contenders in turns, so that other load affects all of them equally. Returns the median rate, and the
 * median processor time of an append in nanoseconds.
 */
async function inTurns(contenders) {
  const samples = new Map(contenders.map((contender) => [contender, []]))
  for (const { append } of contenders) await keepInFlight(append, DEPTH, 300)
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const contender of contenders) {
      const before = process.cpuUsage()
      const { operations, elapsedUs } = await keepInFlight(contender.append, DEPTH, ROUND_MS)
      const { user, system } = process.cpuUsage(before)
      samples
        .get(contender)
        .push({ rate: (operations / elapsedUs) * 1e6, cpuNs: ((user + system) * 1000) / operations })
    }
  }
  return contenders.map((contender) => ({
    rate: median(samples.get(contender).map(({ rate }) => rate)),
    cpuNs: median(samples.get(contender).map(({ cpuNs }) => cpuNs)),
  }))
}

const title = (count) => `append 256 B of JSON at sync, ${DEPTH} in flight, ${count.toLocaleString('en-US')} streams`
const cpu = (count, baseline) => ({
  id: `streams-${count}-cpu`,
  title: '  CPU of each, all threads',
  unit: 'ns',
  baseline,
})

const appends = {
  name: 'streams',
  slow: true,
  figures: [
    { id: 'streams-1', title: title(1), unit: '/s', on: 'ratio', min: 0.6, baseline: 'one log' },
    cpu(1, 'one log'),
    { id: 'streams-1000', title: title(1000), unit: '/s', on: 'ratio', min: 0.8, baseline: '1 stream' },
    cpu(1000, '1 stream'),
    { id: 'streams-10000', title: title(10_000), unit: '/s', on: 'ratio', min: 0.8, baseline: '1 stream' },
    cpu(10_000, '1 stream'),
    { id: 'streams-checkpoints', title: '  checkpoints of 10,000 streams in the meantime', unit: '', min: 1 },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const counts = [1, 1000, 10_000]
      const log = await plainLog(join(folder, 'log'))
      const contenders = [log]
      for (const count of counts) contenders.push(await manyStreams(join(folder, `${count}`), count))
      const [plain, one, thousand, tenThousand] = await inTurns(contenders)
      const checkpoints = contenders[3].checkpoints()
      for (const { close } of contenders) await close()
      const against = (measured, baseline, count) => ({
        [`streams-${count}`]: { value: measured.rate, baseline: baseline.rate },
        [`streams-${count}-cpu`]: { value: measured.cpuNs, baseline: baseline.cpuNs },
      })
      return {
        ...against(one, plain, 1),
        ...against(thousand, one, 1000),
        ...against(tenThousand, one, 10_000),
        'streams-checkpoints': { value: checkpoints },
      }
    })
  },
}

const rivals = streamPeers.filter(isInstalled)

/** Whether the process may open a file for each stream. */
function canOpen(path, count) {
  const descriptors = []
  try {
    while (descriptors.length < count + 100) descriptors.push(openSync(path, 'r'))
    return true
  } catch {
    return false
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor)
  }
}

const versus = {
  name: 'streams-versus',
  slow: true,
  figures: rivals.map(({ name }) => ({
    id: `streams-versus-${name}`,
    title: `append 256 B of JSON durably, ${DEPTH} in flight, ${PEER_STREAMS.toLocaleString('en-US')} streams`,
    unit: '/s',
    on: 'ratio',
    min: 2,
    baseline: name,
  })),
  async unavailable() {
    return canOpen(process.execPath, PEER_STREAMS)
      ? undefined
      : `it needs ${PEER_STREAMS + 100} open files: raise ulimit -n`
  },
  async run({ dir }) {
    const rate = async (opened, append) => {
      await keepInFlight(append, DEPTH, 300)
      const { operations, elapsedUs } = await keepInFlight(append, DEPTH, PEER_MS)
      await opened.close()
      return (operations / elapsedUs) * 1e6
    }
    const own = await withScratch(dir, async (folder) => {
      const streams = await manyStreams(join(folder, 'streams'), PEER_STREAMS)
      return rate(streams, streams.append)
    })
    const figures = {}
    for (const rival of rivals) {
      const theirs = await withScratch(dir, async (folder) => {
        const peer = await rival.open(folder, PEER_STREAMS)
        let next = 0
        return rate(peer, () => {
          const stream = next
          next = next + 1 === PEER_STREAMS ? 0 : next + 1
          return peer.append(stream, Buffer.from(`${JSON.stringify(VALUE)}\n`))
        })
      })
      figures[`streams-versus-${rival.name}`] = { value: own, baseline: theirs }
    }
    return figures
  },
}

export const streamGroups = [appends, versus]
