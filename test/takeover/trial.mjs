/**
 * Takeovers of streams that are replicated to a store, or to a cluster of three brokers: three machines, each a
 * process, and clients that append. The store is in this process, so that requests of each machine can be delayed,
 * repeated, lost, or lose their answer. The brokers are processes, one of which is killed or stopped in most rounds. A
 * machine is killed, stopped at any moment or at one of its requests, or separated from the store or from the clients;
 * then standbys are promoted by hand. In many rounds, a standby that takes over is stopped at one of its requests, too.
 * The wall clocks of the machines differ by up to two hours. With `namespaces`, each machine and each broker has a
 * separate network namespace, and two of them, or a machine and the store, are separated.
 */
import { fork } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { open } from 'durlog'
import { archiveTo, restoreArchive } from 'durlog/archive'
import { jetstream, restore } from 'durlog/jetstream'
import { openStreams } from 'durlog/streams'
import { randomFrom } from '../crash/payload.mjs'
import { FakeS3 } from '../fixtures/fake-s3.mjs'
import { startCluster } from '../fixtures/nats.mjs'
import { judge } from './judge.mjs'
import { Network } from './network.mjs'

const MACHINE = new URL('machine.mjs', import.meta.url).pathname
const NAMES = ['a', 'b', 'c']
const BROKERS = ['n1', 'n2', 'n3']
const PRODUCERS = ['p', 'q']
/** Producers that append without a pause, so that the writer uploads without a pause. */
const BUSY = ['r', 's', 't']
const STREAMS = [...PRODUCERS, ...BUSY, 'chain']
/** A client that gets no answer for so long tries another machine. */
const PATIENCE_MS = 3000
/** The longest pause of other clients between two appends. */
const CLIENT_PAUSE_MS = 300
/** A round that takes longer has failed. A busy machine needs more than a minute for the last uploads of a writer. */
const ROUND_MS = 300_000
const HOUR_MS = 3_600_000
/**
 * A machine stops at one of so many requests: of two gates, of the lease and of cursors; a standby, of its takeover and
 * of its first appends.
 */
const REQUESTS_UNTIL_STOP = 50
/** A standby that was stopped resumes after this time at the latest: the other machines may have lost their roles. */
const RESUME_MS = 6000
const FAULTS = ['kill', 'stop', 'no clients', 'none']

/** Makes `takeovers` takeovers. Returns figures; throws an error if a promise was broken. */
export async function runTakeovers(
  dir,
  { takeovers, seed, brokers = false, namespaces = false, leaseMs = 1500, report = () => {} },
) {
  const trial = new Trial(dir, { seed, brokers, namespaces, leaseMs, report })
  try {
    return await trial.run(takeovers)
  } finally {
    await trial.close()
  }
}

class Trial {
  #dir
  #random
  #leaseMs
  #report
  #s3
  #brokers
  /** The network of the machines and brokers; undefined without namespaces. */
  #network
  /** The access of a machine to the destination. */
  #accessOf
  /** By name: `{ child, dir, isServing, isApart, ... }`. */
  #machines = new Map()
  #folders = 0
  /** By id: the requests whose client waits for the answer. */
  #requests = new Map()
  /** By id: every request, because an answer counts also if its client no longer waits. */
  #sent = new Map()
  #lastId = 0
  /** The machine that served when the round began, and those that were promoted by hand in it. */
  #former
  #promoted = new Set()
  /** By stream: the last answer to a client whose append is not acknowledged yet. */
  #refusals = new Map()
  /** The clients end. */
  #ending = false
  /** No machine starts again. */
  #closing = false
  /** Every acknowledgement, with the time of its request and of its answer. */
  acknowledged = []
  #changed = () => {}
  #failure
  faults = {}

  constructor(dir, { seed, brokers, namespaces, leaseMs, report }) {
    this.#dir = dir
    this.#brokers = brokers ? [] : undefined
    if (namespaces) this.#network = new Network([...NAMES, ...(brokers ? BROKERS : [])])
    this.#random = randomFrom(seed)
    this.#leaseMs = leaseMs
    this.#report = report
  }

  async run(takeovers) {
    mkdirSync(this.#dir, { recursive: true })
    if (this.#brokers === undefined) {
      this.#s3 = await new FakeS3().start(0, this.#network && '0.0.0.0')
      this.#s3.fault = (request) => this.#arrive(request)
      const { port } = new URL(this.#s3.url)
      this.#accessOf = (name) => {
        const endpoint = `http://${this.#network?.addressOf() ?? '127.0.0.1'}:${port}`
        return { ...this.#s3.access, endpoint, credentials: { accessKeyId: name, secretAccessKey: 'secret' } }
      }
    } else {
      const network = this.#network
      const places =
        network && BROKERS.map((name) => ({ host: network.addressOf(name), command: network.commandOf(name) }))
      this.#brokers = await startCluster(join(this.#dir, 'brokers'), places)
      const servers = this.#brokers.map(({ url }) => url)
      this.#accessOf = () => ({ servers, stream: 'TRIAL', timeoutMs: 2000 })
    }
    // The first machine opens a new folder, and the others wait for its first records.
    const first = await openStreams(join(this.#dir, 'first'), {
      exclusive: true,
      durability: 'replicated',
      replicate:
        this.#brokers === undefined
          ? archiveTo({ ...this.#s3.access, flushMs: 1000 })
          : jetstream({ ...this.#accessOf(), replicas: 3 }),
    })
    for (const name of STREAMS) await first.stream(name).create()
    await first.close()
    this.#start('a', join(this.#dir, 'first'))
    await this.#until(() => this.#serving.length > 0)
    for (const name of NAMES.slice(1)) this.#start(name)
    const paused = PRODUCERS.map((name) => this.#produce(name, CLIENT_PAUSE_MS))
    const clients = [...paused, ...BUSY.map((name) => this.#produce(name, 0)), this.#chain()]
    for (const client of clients) client.catch((error) => this.#fail(error))
    for (let done = 0; done < takeovers; done++) await this.#round(done)
    this.#ending = true
    let hasEnded = false
    void Promise.allSettled(clients).then(() => {
      hasEnded = true
      this.#changed()
    })
    await this.#until(() => hasEnded)
    // At least one replica has records.
    await this.#until(() => this.#standbys.some(({ hasServed }) => !hasServed))
    return await this.#judge(takeovers)
  }

  async close() {
    this.#ending = this.#closing = true
    const ended = [...this.#machines.values()].map(({ child }) => end(child))
    await Promise.all(ended)
    await this.#s3?.stop()
    await Promise.all((this.#brokers ?? []).map((broker) => broker.kill()))
    this.#network?.remove()
  }

  get #serving() {
    return [...this.#machines.values()].filter(({ isServing }) => isServing)
  }

  #below(n) {
    return Math.floor(this.#random() * n)
  }

  #fail(error) {
    this.#failure ??= error
    this.#changed()
  }

  async #until(isDone, ms = ROUND_MS) {
    const late = wait(ms, 'late', { ref: false })
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure
      if (isDone()) return
      const woken = await Promise.race([
        late,
        new Promise((resolve) => {
          this.#changed = resolve
        }),
      ])
      if (woken === 'late') throw new Error(`nothing happened for ${ms} ms: ${this.#state()}`)
    }
  }

  #state() {
    const shown = ({ name, isServing, isStanding, fault, reason }) => ({ name, isServing, isStanding, fault, reason })
    const machines = [...this.#machines.values()].map(shown)
    return JSON.stringify({ machines, refusals: Object.fromEntries(this.#refusals) })
  }

  /** An error of a wall clock. */
  #wrongMs() {
    return (this.#below(3) - 1) * HOUR_MS
  }

  /** Starts a machine in a new folder, unless it continues in `dir`. */
  #start(name, dir = join(this.#dir, `${name}${++this.#folders}`)) {
    const access = this.#accessOf(name)
    const args = [dir, JSON.stringify(access), String(this.#leaseMs), String(this.#wrongMs())]
    const [execPath, ...execArgv] = [...(this.#network?.commandOf(name) ?? []), process.execPath]
    const child = fork(MACHINE, args, { execPath, execArgv })
    const machine = { name, dir, child, isServing: false, isStanding: false, acknowledged: 0 }
    this.#machines.set(name, machine)
    child.on('message', (message) => this.#receive(machine, message))
    child.on('error', () => {})
    child.once('exit', () => {
      machine.isServing = machine.isStanding = false
      if (machine !== this.#former) void this.#replace(machine)
      this.#changed()
    })
  }

  /** Every machine that has lost its role begins again in a new folder. */
  async #replace(machine) {
    if (this.#closing || machine.isReplaced) return
    machine.isReplaced = true
    await end(machine.child)
    if (!this.#closing) this.#start(machine.name)
  }

  #receive(machine, { kind, id, seq, duplicate, code, nextSeq, reason }) {
    if (kind === 'retry') machine.reason = reason
    const isNews = kind === 'serving' || kind === 'ended' || (kind === 'fenced' && machine.isServing)
    if (isNews) this.#report(`  ${machine.name} ${kind} ${code ?? ''}`)
    if (kind === 'serving') Object.assign(machine, { isServing: true, isStanding: false, hasServed: true })
    if (kind === 'standing' && !machine.isStanding) {
      machine.isStanding = true
      // It has begun again, because another machine was faster.
      if (this.#promoted.has(machine.name)) this.#promote(machine)
    }
    if (kind === 'fenced') {
      machine.isServing = false
      if (machine !== this.#former) void this.#replace(machine)
    }
    if (kind === 'ended' && !['ERR_DURLOG_FENCED', 'ERR_DURLOG_NOT_FOUND'].includes(code))
      this.#fail(new Error(`${machine.name} has ended: ${code}`))
    if (seq !== undefined) this.#acknowledge(machine, { ...this.#sent.get(Math.abs(id)), seq, duplicate })
    if (id !== undefined && machine.fault !== 'no clients') {
      if (seq !== undefined) machine.acknowledged++
      this.#requests.get(id)?.({ seq, code, nextSeq })
    }
    this.#changed()
  }

  /** One fault of the machine that serves, until another one has served every client; then the machine stands by. */
  async #round(number) {
    await this.#until(() => this.#serving.some((one) => one.acknowledged > 0) && this.#standbys.length > 0)
    const former = this.#serving.filter((one) => one.acknowledged > 0).at(-1)
    this.#former = former
    const repair = await this.#breakBroker()
    const slow = this.#chooseSlow()
    const faults = [...FAULTS]
    if (this.#network !== undefined) faults.push('no link')
    else if (this.#brokers === undefined) faults.push('no store')
    if (this.#brokers === undefined) faults.push('stop at a request')
    const fault = faults[this.#below(faults.length)]
    this.faults[fault] = (this.faults[fault] ?? 0) + 1
    former.fault = fault
    this.#report(`round ${number}: ${former.name} ${fault}`)
    const begun = performance.now()
    for (const machine of this.#machines.values()) {
      machine.acknowledged = 0
      if (machine.child.connected) machine.child.send({ kind: 'clock', wrongMs: this.#wrongMs() }, () => {})
    }
    if (fault === 'stop at a request') former.requestsUntilStop = 1 + this.#below(REQUESTS_UNTIL_STOP)
    if (fault === 'kill') former.child.kill('SIGKILL')
    if (fault === 'stop') former.child.kill('SIGSTOP')
    const destinations = this.#brokers === undefined ? [undefined] : BROKERS
    if (fault === 'no link') for (const one of destinations) this.#network.separate(former.name, one)
    // A takeover by hand, of a machine that still runs.
    if (fault === 'no clients' || fault === 'none') {
      const standbys = this.#standbys
      // Both, so that they race.
      const isRace = slow !== undefined || this.#below(3) === 0
      const chosen = isRace ? standbys : [standbys[this.#below(standbys.length)]]
      for (const one of chosen) {
        this.#armStop(one)
        this.#promoted.add(one.name)
        this.#promote(one)
      }
    }
    await this.#until(() => [...this.#machines.values()].some((one) => one !== former && one.acknowledged > 0))
    this.#report(`  after ${Math.round(performance.now() - begun)} ms`)
    if (fault.startsWith('stop')) former.child.kill('SIGCONT')
    former.resume?.()
    if (slow !== undefined) this.#resume(slow)
    if (fault === 'no link') for (const one of destinations) this.#network.join(former.name, one)
    former.fault = undefined
    await repair()
    // The former machine continues for a moment, and may be given appends.
    if (fault !== 'kill') await wait(this.#below(1000))
    this.#promoted.clear()
    this.#former = undefined
    await this.#replace(former)
  }

  #promote(machine) {
    if (machine.child.connected) machine.child.send({ kind: 'promote' }, () => {})
  }

  /** In half of the rounds, one of the standbys will stop while it takes over. */
  #chooseSlow() {
    const standbys = this.#standbys
    if (this.#below(2) === 0) return undefined
    const slow = standbys[this.#below(standbys.length)]
    slow.stopsIn = 1 + this.#below(REQUESTS_UNTIL_STOP)
    // The requests to brokers are not seen here.
    if (this.#brokers !== undefined) wait(this.#below(2 * this.#leaseMs)).then(() => this.#stop(slow))
    return slow
  }

  /** A standby takes over: with a lease that it has taken, or by hand. */
  #armStop(machine) {
    if (machine.stopsIn === undefined || this.#brokers !== undefined) return
    machine.requestsUntilStop = machine.stopsIn
    machine.stopsIn = undefined
  }

  /** Stops a standby, unless its round has ended. */
  #stop(slow) {
    if (slow.stopsIn === undefined) return
    slow.stopsIn = undefined
    this.faults['standby stopped'] = (this.faults['standby stopped'] ?? 0) + 1
    slow.child.kill('SIGSTOP')
    wait(RESUME_MS, undefined, { ref: false }).then(() => this.#resume(slow))
  }

  #resume(machine) {
    machine.stopsIn = undefined
    machine.requestsUntilStop = 0
    machine.child.kill('SIGCONT')
    machine.resume?.()
  }

  /** Kills, stops or separates one of the brokers in most rounds. Returns the function that repairs it. */
  async #breakBroker() {
    if (this.#brokers === undefined || this.#below(4) === 0) return async () => {}
    const index = this.#below(this.#brokers.length)
    const broker = this.#brokers[index]
    const kinds = ['broker killed', 'broker killed', 'broker stopped']
    if (this.#network !== undefined) kinds.push('broker apart', 'broker apart', 'broker apart')
    const fault = kinds[this.#below(kinds.length)]
    this.faults[fault] = (this.faults[fault] ?? 0) + 1
    if (fault === 'broker killed') {
      await broker.kill()
      return () => broker.start()
    }
    if (fault === 'broker stopped') {
      broker.freeze()
      return async () => broker.thaw()
    }
    const others = [...NAMES, ...BROKERS].filter((one) => one !== BROKERS[index])
    const other = others[this.#below(others.length)]
    this.#report(`  ${BROKERS[index]} apart from ${other}`)
    this.#network.separate(BROKERS[index], other)
    return async () => this.#network.join(BROKERS[index], other)
  }

  get #standbys() {
    return [...this.#machines.values()].filter(({ isStanding, isServing }) => isStanding && !isServing)
  }

  #acknowledge(machine, { stream, value, begun, seq, duplicate }) {
    this.acknowledged.push({ stream, seq, value, duplicate, begun, ended: performance.now(), by: machine.name })
  }

  /** Sends an append to a machine. Undefined if no answer arrives in time. */
  async #ask(machine, message) {
    const id = ++this.#lastId
    this.#sent.set(id, { ...message, begun: performance.now() })
    const isApart = machine.fault === 'no clients'
    try {
      return await new Promise((resolve) => {
        this.#requests.set(id, resolve)
        wait(PATIENCE_MS, undefined, { ref: false }).then(resolve)
        if (!isApart && machine.child.connected) machine.child.send({ id, ...message }, () => {})
        // The request may arrive twice.
        if (!isApart && machine.child.connected && this.#below(20) === 0)
          machine.child.send({ id: -id, ...message }, () => {})
      })
    } finally {
      this.#requests.delete(id)
    }
  }

  /**
   * Repeats an append until it is acknowledged, as a client does: at any machine. The value states the attempt, so that
   * the judge knows which one is stored: an attempt that a former writer acknowledges must not be another one.
   */
  async #append(stream, seq, options) {
    for (let attempt = 1; ; ) {
      const known = this.#serving
      const machine = known[this.#below(known.length)]
      if (machine === undefined) {
        if (this.#failure !== undefined) return undefined
        await wait(20)
        continue
      }
      const request = { stream, value: `${stream}${seq}#${attempt++}`, options }
      const begun = performance.now()
      const answer = await this.#ask(machine, request)
      const isStored = answer?.code === 'ERR_DURLOG_SEQ_CONFLICT' && answer.nextSeq > options.expectedSeq
      if (isStored) this.#acknowledge(machine, { ...request, begun, seq, duplicate: true })
      if (answer?.seq !== undefined || isStored) {
        this.#refusals.delete(stream)
        return answer
      }
      this.#refusals.set(stream, answer?.code ?? 'no answer')
      if (this.#failure !== undefined) return undefined
      await wait(20)
    }
  }

  /** Appends as a producer until the trial ends. */
  async #produce(name, pauseMs) {
    for (let seq = 0; !this.#ending; seq++) {
      const producer = { id: name, epoch: 0, seq }
      await this.#append(name, seq, { producer })
      await wait(this.#below(pauseMs))
    }
  }

  /**
   * The only client that appends to its stream, and knows the seq of each append. A conflict at a repeated append means
   * that it is stored already if the stream has a later seq, which the judge checks. A former writer that has not
   * noticed its successor yet reports an earlier one.
   */
  async #chain() {
    for (let seq = 0; !this.#ending; seq++) {
      await this.#append('chain', seq, { expectedSeq: seq })
      await wait(this.#below(CLIENT_PAUSE_MS))
    }
  }

  /** The fault of a request. */
  async #arrive({ method, key, query, headers, body, abandon }) {
    const name = /Credential=(\w+)/.exec(headers.authorization ?? '')?.[1]
    const machine = this.#machines.get(name)
    if (machine === undefined || headers['x-repeated'] !== undefined) return undefined
    if (method === 'PUT' && key.endsWith('/lease')) this.#armStop(machine)
    if (machine.requestsUntilStop > 0 && --machine.requestsUntilStop === 0) {
      machine.child.kill('SIGSTOP')
      if (machine.fault === undefined) {
        this.faults['standby stopped'] = (this.faults['standby stopped'] ?? 0) + 1
        wait(RESUME_MS, undefined, { ref: false }).then(() => this.#resume(machine))
      }
      const resumed = new Promise((resolve) => {
        machine.resume = resolve
      })
      // The request arrives before the takeover, and its answer after that; or both after it.
      if (this.#below(2) === 0) return { answerAfter: () => resumed }
      await resumed
      return undefined
    }
    if (machine.fault === 'no store') return this.#below(2) === 0 ? { drop: true } : { delayMs: 100, dropAfter: true }
    const chance = this.#below(100)
    if (method !== 'PUT' || chance >= 8) return undefined
    if (chance < 2) return { dropAfter: true }
    if (chance < 4) return { delayMs: this.#below(300) }
    if (chance < 6) {
      void this.#repeat(key, query, headers, body)
      return undefined
    }
    abandon()
    await wait(this.#below(3000))
    return undefined
  }

  /** Sends a request once more, later. */
  async #repeat(key, query, headers, body) {
    await wait(this.#below(3000))
    const url = new URL(`${this.#s3.url}/bucket/${key}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const repeated = httpRequest(url, { method: 'PUT', headers: { ...headers, 'x-repeated': '1' } })
    repeated.on('error', () => {}).on('response', (response) => response.resume())
    repeated.end(body)
  }

  async #judge(takeovers) {
    const machines = [...this.#machines.values()]
    const replicas = machines.filter(({ hasServed }) => !hasServed)
    this.#closing = true
    await Promise.all(machines.map(({ child }) => end(child)))
    const dir = join(this.#dir, 'final')
    if (this.#brokers === undefined) {
      this.#s3.fault = () => undefined
      await restoreArchive(dir, this.#s3.access)
    } else await restore(dir, this.#accessOf())
    const log = await recordsIn(join(dir, 'log'))
    const streams = await openStreams(dir, { exclusive: true })
    const final = new Map()
    for (const name of STREAMS) {
      const values = []
      for await (const { value } of streams.stream(name).read()) values.push(value.trimEnd())
      final.set(name, values)
    }
    await streams.close()
    const prefixes = []
    // A replica may have no catalog yet.
    for (const replica of replicas) prefixes.push(await recordsIn(join(replica.dir, 'log')))
    const compared = judge({ acknowledged: this.acknowledged, final, log, replicas: prefixes })
    return { takeovers, appends: this.acknowledged.length, compared, faults: this.faults }
  }
}

/** The records of a log, by seq. The folder of a machine that has restored nothing yet holds none. */
async function recordsIn(dir) {
  const found = new Map()
  const log = await open(dir, { readOnly: true }).catch((error) => {
    if (error.code !== 'ERR_DURLOG_NOT_FOUND') throw error
  })
  if (log === undefined) return found
  for await (const { seq, data } of log.read()) found.set(seq, data.toString('base64'))
  await log.close()
  return found
}

/** Ends a process, also one that is stopped. */
async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await exited
}
