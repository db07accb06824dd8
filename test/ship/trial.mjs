/**
 * A writer, a shipper and one server or three, each in a separate process that is killed repeatedly. In the end the
 * stream has the contents of the log: every record once, in order, byte for byte.
 */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { open } from 'durlog'
import { startCluster, startServer } from '../fixtures/nats.mjs'
import { RestartedChild } from '../fixtures/restarted-child.mjs'

const STREAM = 'TRIAL'
const SUBJECT = 'trial.log'
/** The most records that the writer may be ahead of the shipper. */
const AHEAD = 5000
const path = (name) => fileURLToPath(new URL(name, import.meta.url))

class Trial {
  shipped = -1
  problem = ''
  retries = 0
  maxSilenceMs = 0

  constructor(dir, options) {
    this.options = options
    this.dir = join(dir, 'log')
    this.root = dir
  }

  async run() {
    const { servers: count, records } = this.options
    this.servers = count === 1 ? [await startServer(this.root)] : await startCluster(this.root)
    try {
      await this.makeStream()
      await this.startChildren()
      await this.killAlongTheWay()
      await this.until(records - 1)
      await Promise.all([this.shipper.kill(), this.writer.kill()])
      return await this.compare()
    } finally {
      await Promise.all([this.shipper, this.writer].map((child) => child?.kill().catch(() => {})))
      await Promise.all(this.servers.map((server) => server.kill()))
    }
  }

  get urls() {
    return this.servers.map(({ url }) => url)
  }

  async admin() {
    const nc = await connect({ servers: this.urls, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
    return { nc, manager: await jetstreamManager(nc, { checkAPI: false, timeout: 2000 }) }
  }

  async makeStream() {
    const { nc, manager } = await this.admin()
    const replicas = this.servers.length
    const config = { name: STREAM, subjects: [SUBJECT], num_replicas: replicas, allow_atomic: this.options.atomic }
    // A new cluster has no leader at first.
    await again(() => manager.streams.add(config))
    await nc.close()
  }

  async startChildren() {
    const ship = { servers: this.urls, stream: STREAM, subject: SUBJECT, timeoutMs: 5000, create: false }
    let opened
    const open = new Promise((resolve) => {
      opened = resolve
    })
    this.writer = new RestartedChild(
      path('writer.mjs'),
      (life) => [this.dir, String(life)],
      (word, rest) => {
        if (word === 'open') opened()
        if (word === 'open') this.sendTarget()
        if (word === 'refused') this.problem = `an append was refused: ${rest}`
      },
    ).start()
    await open
    this.shipper = new RestartedChild(
      path('shipper.mjs'),
      () => [this.dir, JSON.stringify(ship)],
      (word, rest) => {
        if (word === 'shipped') this.shipped = Math.max(this.shipped, Number(rest))
        if (word === 'shipped') this.sendTarget()
        if (word === 'stopped') this.problem = `the shipper stopped: ${rest}`
        if (word === 'retry') this.retries++
      },
    ).start()
  }

  sendTarget() {
    this.writer.process.stdin.write(`${Math.min(this.options.records, this.shipped + AHEAD)}\n`)
  }

  /** Resolves once `seq` is shipped. */
  async until(seq) {
    let last = this.shipped
    let since = performance.now()
    while (this.shipped < seq) {
      if (this.problem !== '') throw new Error(this.problem)
      if (this.shipped !== last) {
        last = this.shipped
        since = performance.now()
      }
      const silence = performance.now() - since
      this.maxSilenceMs = Math.max(this.maxSilenceMs, silence)
      if (silence > 120_000) throw new Error(`nothing was shipped after ${last} for two minutes`)
      await wait(20)
    }
  }

  /**
   * Kills at equal distances, in turn: the leader of the stream, the shipper, the writer; once in the middle all
   * servers.
   */
  async killAlongTheWay() {
    const { kills, records } = this.options
    const steps = Array.from({ length: kills }, () => ['leader', 'shipper', 'writer']).flat()
    steps.splice(Math.floor(steps.length / 2), 0, 'servers')
    for (const [i, step] of steps.entries()) {
      await this.until(Math.floor(((i + 1) * records) / (steps.length + 1)))
      if (step === 'shipper') await this.shipper.restart()
      else if (step === 'writer') await this.writer.restart()
      else await this.killServers(step === 'servers' ? this.servers : [await this.leader()])
    }
  }

  async killServers(servers) {
    await Promise.all(servers.map((server) => server.kill()))
    await Promise.all(servers.map((server) => server.start()))
  }

  async leader() {
    if (this.servers.length === 1) return this.servers[0]
    const { nc, manager } = await this.admin()
    const name = await again(async () => {
      const { leader } = (await manager.streams.info(STREAM)).cluster
      if (!leader) throw new Error('no leader')
      return leader
    })
    await nc.close()
    return this.servers.find(({ dir }) => dir.endsWith(name))
  }

  /** Compares the stream with the log. */
  async compare() {
    const log = await open(this.dir, { readOnly: true })
    const { nc, manager } = await this.admin()
    const { state } = await again(() => manager.streams.info(STREAM))
    const consumer = await again(() => jetstream(nc).consumers.get(STREAM, { filter_subjects: SUBJECT }))
    const messages = await consumer.consume({ max_messages: 1000 })
    const expected = log.read()[Symbol.asyncIterator]()
    let compared = 0
    for await (const message of messages) {
      const { value: record, done } = await expected.next()
      if (done) throw new Error(`the stream holds more than the log's ${compared} records`)
      const header = Number(message.headers.get('Durlog-Seq'))
      const same = message.seq === record.seq + 1 && header === record.seq && record.data.equals(message.data)
      if (!same) throw new Error(`message ${message.seq} is record ${header}, the log has ${record.seq} there`)
      if (++compared === state.last_seq) break
    }
    await nc.close()
    await log.close()
    if (compared !== log.nextSeq || compared !== this.options.records)
      throw new Error(`the stream holds ${compared} records, the log ${log.nextSeq}`)
    const { retries, maxSilenceMs, writer, shipper } = this
    return {
      records: compared,
      writers: writer.lives,
      shippers: shipper.lives,
      retries,
      maxSilenceMs: Math.round(maxSilenceMs),
    }
  }
}

/** Repeats `action` until it succeeds, for two minutes. */
export async function again(action) {
  const end = performance.now() + 120_000
  for (;;) {
    try {
      return await action()
    } catch (error) {
      if (performance.now() > end) throw error
      await wait(200)
    }
  }
}

/** Rejects with the failure. `options`: records, kills (of each kind), servers (1 or 3), atomic (batches). */
export function runTrial(dir, options) {
  return new Trial(dir, options).run()
}
