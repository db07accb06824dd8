/**
 * A cluster of three with replicas 3, and a log that gets 100 records a second. For some seconds a server is stopped,
 * silent or dead. The trial measures how long nothing is shipped, and the descriptors and the memory of the shipper.
 */
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { open } from 'durlog'
import { ship } from 'durlog/jetstream'
import { startCluster } from '../fixtures/nats.mjs'
import { again } from './trial.mjs'

const STREAM = 'SILENCE'
const SUBJECT = 'silence.log'
const RECORD = Buffer.alloc(256, 'x')
const APPEND_EVERY_MS = 10
const MIB = 2 ** 20

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

/** The bytes of live objects, in the heap and outside. */
function liveMemory() {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const openFiles = () => readdirSync('/proc/self/fd').length

async function admin(servers) {
  const urls = servers.map(({ url }) => url)
  const nc = await connect({ servers: urls, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
  return { nc, manager: await jetstreamManager(nc, { checkAPI: false, timeout: 2000 }) }
}

/** The stream's leader, and the two other servers. */
async function roles(servers) {
  const { nc, manager } = await admin(servers)
  const name = await again(async () => {
    const { cluster } = await manager.streams.info(STREAM)
    if (!cluster.leader || cluster.replicas.some(({ current }) => !current))
      throw new Error('the cluster is incomplete')
    return cluster.leader
  })
  await nc.close()
  const leader = servers.find(({ dir }) => dir.endsWith(name))
  return { leader, others: servers.filter((server) => server !== leader) }
}

/** Each returns the servers for the shipper, and functions that cause and end the fault. */
const SCENARIOS = {
  'the leader is stopped': ({ servers, leader }) => ({
    given: servers.map(({ url }) => url),
    breaks: () => leader.freeze(),
    repairs: () => leader.thaw(),
  }),
  "the shipper's server is stopped": ({ others: [own] }) => ({
    given: [own.url],
    breaks: () => own.freeze(),
    repairs: () => own.thaw(),
  }),
  "the shipper's server is killed, and another address is silent": ({ others: [own], silentUrl }) => ({
    given: [own.url, silentUrl],
    breaks: () => own.kill(),
    repairs: () => own.start(),
  }),
  'the only given server is killed': ({ others: [own] }) => ({
    given: [own.url],
    breaks: () => own.kill(),
    repairs: () => own.start(),
  }),
}

async function appendUntil(log, signal) {
  while (!signal.aborted) {
    await log.append(RECORD)
    await wait(APPEND_EVERY_MS)
  }
}

async function runScenario(log, { given, breaks, repairs }, seconds) {
  const shipper = ship(log, { servers: given, stream: STREAM, subject: SUBJECT })
  const ending = new AbortController()
  const appending = appendUntil(log, ending.signal)
  await shipper.idle()
  await wait(1000)
  const before = { files: openFiles(), memory: liveMemory() }
  let last = performance.now()
  let longest = 0
  let files = 0
  const notePause = () => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }
  shipper.on('shipped', notePause)
  const sampling = setInterval(() => {
    files = Math.max(files, openFiles())
  }, 100)
  await breaks()
  await wait(seconds * 1000)
  notePause()
  clearInterval(sampling)
  await repairs()
  ending.abort()
  await appending
  await shipper.idle()
  const after = { files: openFiles(), memory: liveMemory() }
  const { retries, reconnects } = shipper.stats()
  await shipper.close()
  return {
    longestPauseMs: Math.round(longest),
    retries,
    reconnects,
    files: `${before.files} before, at most ${files}, ${after.files} after`,
    memoryMiB: `${(before.memory / MIB).toFixed(1)} before, ${(after.memory / MIB).toFixed(1)} after`,
  }
}

/** Each server is stopped, silent or dead for `seconds`. */
export async function runSilenceTrial(dir, seconds) {
  const servers = await startCluster(dir)
  const silent = createServer(() => {})
  await new Promise((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const silentUrl = `nats://127.0.0.1:${silent.address().port}`
  const log = await open(join(dir, 'log'))
  const results = {}
  try {
    const { nc, manager } = await admin(servers)
    await again(() => manager.streams.add({ name: STREAM, subjects: [SUBJECT], num_replicas: 3, allow_atomic: true }))
    for (const [name, scenario] of Object.entries(SCENARIOS)) {
      results[name] = await runScenario(log, scenario({ servers, silentUrl, ...(await roles(servers)) }), seconds)
      console.log(name, results[name])
    }
    const { state } = await again(() => manager.streams.info(STREAM))
    if (state.messages !== log.nextSeq) throw new Error(`the stream holds ${state.messages} of ${log.nextSeq} records`)
    await nc.close()
    return { records: log.nextSeq }
  } finally {
    silent.close()
    await log.close()
    await Promise.all(servers.map((server) => server.kill()))
  }
}
