/**
 * A log is appended to, truncated, trimmed and reopened at random, while two archivers copy it to a store whose
 * requests fail, and are restarted. In the end each history of the archive must hold the records that the log had
 * before its next truncation. The seed determines the steps and the faults; how they coincide is left to the machine.
 */
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { open } from 'durlog'
import { archive, listArchive, restoreArchive } from 'durlog/archive'
import { randomFrom } from '../crash/payload.mjs'
import { FakeS3 } from '../fixtures/fake-s3.mjs'

const SEGMENT_BYTES = 65_536
const FAULTS = [
  { status: 500 },
  { status: 503, code: 'SlowDown' },
  { status: 409 },
  { drop: true },
  { dropAfter: true },
  { delayMs: 30 },
]
/** The steps while the store does not respond, and those after that. */
const FIRST_STEPS = ['append', 'append', 'append', 'append', 'append', 'truncate', 'trim']
const STEPS = [
  'append',
  'append',
  'append',
  'append',
  'sync',
  'truncate',
  'truncate',
  'trim',
  'restart',
  'reopen',
  'follow',
]
/** Objects that are never replaced. */
const CREATED_ONCE = /\/(log|tail|history)[^/]*\/\d{20}$/

/**
 * Runs the round of `seed` in `dir`. Throws if a promise was broken; then `dir` has the log, the objects and
 * `round.json`.
 */
export async function runRound(dir, seed) {
  const round = new Round(dir, seed)
  try {
    return await round.run()
  } catch (error) {
    round.report(error)
    throw new Error(`seed ${seed}: ${error.message}`, { cause: error })
  } finally {
    await round.close()
  }
}

class Round {
  #dir
  #seed
  #random
  #randomFault
  #s3
  #isUnreachable = false
  /** One in this many requests fails; none if 0. */
  #faultRate = 0
  #compress
  #log
  /** The same log, read-only. */
  #reader
  /** Of the archivers `one`, with the writer's log, and `two`, with the read-only one. */
  #archivers = {}
  #errors = []
  #steps = []
  /** By seq: the text of each record that was not truncated. */
  #texts = []
  /** By generation: the records before the truncation that ended it. */
  #ended = new Map()
  /** The first seq of the archive. */
  #first = 0
  #histories = 0
  #retries = 0

  constructor(dir, seed) {
    this.#dir = dir
    this.#seed = seed
    this.#random = randomFrom(seed)
    this.#randomFault = randomFrom(~seed)
  }

  async run() {
    this.#s3 = await new FakeS3(join(this.#dir, 'store')).start()
    this.#s3.pageSize = 2 + this.#below(20)
    this.#s3.fault = (request) => this.#fault(request)
    this.#faultRate = [0, 12, 40][this.#below(3)]
    this.#compress = ['none', 'zstd'][this.#below(2)]
    this.#isUnreachable = this.#below(4) === 0
    this.#log = await this.#open()
    this.#reader = await open(this.#log.dir, { readOnly: true })
    for (const name of ['one', 'two']) this.#start(name)
    if (this.#isUnreachable) await this.#beginUnreachable()
    await this.#runSteps(STEPS, 20 + this.#below(40))
    this.#faultRate = 0
    await this.#append(1)
    await this.#archiveAll()
    await this.#check()
    return {
      truncations: this.#ended.size,
      histories: this.#histories,
      retries: this.#retries,
      hasGap: this.#first > 0,
    }
  }

  async close() {
    for (const archiver of Object.values(this.#archivers)) await archiver.close()
    await this.#reader?.close()
    await this.#log?.close()
    await this.#s3?.stop()
  }

  report({ stack }) {
    const requests = this.#s3.requests.map(({ method, key, status }) => `${status} ${method} ${key}`)
    const ended = [...this.#ended].map(([generation, texts]) => ({ generation, nextSeq: texts.length }))
    const facts = { seed: this.#seed, error: stack, compress: this.#compress, steps: this.#steps, ended, requests }
    writeFileSync(join(this.#dir, 'round.json'), JSON.stringify(facts, undefined, 1))
  }

  /** 0 to below `n`. */
  #below(n) {
    return Math.floor(this.#random() * n)
  }

  #fault({ method, key, query }) {
    if (this.#isUnreachable) return { status: 500 }
    if (this.#faultRate === 0 || `${key}${query.prefix}`.includes('/probe/')) return undefined
    // A session sends few writes and many other requests.
    const oneIn = method === 'PUT' ? this.#faultRate / 4 : this.#faultRate
    if (this.#randomFault() * oneIn >= 1) return undefined
    return FAULTS[Math.floor(this.#randomFault() * FAULTS.length)]
  }

  #open() {
    return open(join(this.#dir, 'log'), { segmentBytes: SEGMENT_BYTES })
  }

  #start(cursor) {
    const flushMs = 1 + this.#below(20)
    const log = cursor === 'one' ? this.#log : this.#reader
    const archiver = archive(log, { ...this.#s3.access, cursor, flushMs, compress: this.#compress })
    archiver.on('error', (error) => this.#errors.push(error))
    archiver.on('retry', () => this.#retries++)
    this.#archivers[cursor] = archiver
  }

  async #runSteps(steps, count) {
    for (let i = 0; i < count && this.#errors.length === 0; i++) {
      await this.#run(steps[this.#below(steps.length)])
      if (this.#below(3) === 0) await wait(this.#below(40))
    }
    for (const error of this.#errors) throw error
  }

  #run(step) {
    const { firstSeq, nextSeq } = this.#log
    this.#steps.push(
      `${step} ${firstSeq} to ${nextSeq} of generation ${this.#log.generation} after ${this.#s3.requests.length} requests`,
    )
    if (step === 'append') return this.#append(1 + this.#below(120))
    if (step === 'sync') return this.#log.sync()
    if (step === 'truncate') return this.#truncate(firstSeq, nextSeq)
    if (step === 'trim') return this.#trim(firstSeq + this.#below(nextSeq - firstSeq + 1))
    return this.#restart(step)
  }

  async #append(count) {
    for (let i = 0; i < count; i++) {
      const text = `${this.#log.nextSeq} of generation ${this.#log.generation} ${'x'.repeat(this.#below(900))}`
      const seq = await this.#log.append(text, { durability: 'memory' })
      this.#texts[seq] = text
    }
  }

  async #truncate(firstSeq, nextSeq) {
    if (nextSeq < firstSeq + 3) return
    // One in three is near the log's beginning.
    const records = this.#below(3) === 0 ? Math.min(50, nextSeq - firstSeq - 1) : nextSeq - firstSeq - 1
    const last = firstSeq + this.#below(records)
    this.#ended.set(this.#log.generation, [...this.#texts])
    // Half of the truncations begin while records are read.
    if (this.#below(2) === 0) {
      this.#archivers.one.idle().catch(() => {})
      await wait(this.#below(10))
    }
    await this.#log.truncateAfter(last)
    this.#texts.length = last + 1
  }

  async #trim(seq) {
    if (!this.#isUnreachable) await this.#archivers.one.idle()
    await this.#log.trimBefore(seq)
  }

  /** `restart`: of the archiver `one`; `reopen`: also of its log; `follow`: of the archiver `two` and its log. */
  async #restart(step) {
    const name = step === 'follow' ? 'two' : 'one'
    await this.#archivers[name].close()
    if (step === 'reopen') {
      await this.#log.close()
      this.#log = await this.#open()
    }
    if (step === 'follow') {
      await this.#reader.close()
      this.#reader = await open(this.#log.dir, { readOnly: true })
    }
    this.#start(name)
  }

  /**
   * The store does not respond at first. If the log trims records meanwhile, both archivers must report them as lost.
   */
  async #beginUnreachable() {
    for (const archiver of Object.values(this.#archivers)) await once(archiver, 'retry')
    await this.#runSteps(FIRST_STEPS, 10 + this.#below(20))
    this.#isUnreachable = false
    const { firstSeq } = this.#log
    if (firstSeq === 0) return
    for (const archiver of Object.values(this.#archivers)) {
      const { code, lostFirst, lostLast } = await archiver.idle().then(
        () => ({}),
        (error) => error,
      )
      if (code !== 'ERR_DURLOG_DESTINATION_GAP' || lostFirst !== 0 || lostLast !== firstSeq - 1)
        throw new Error(
          `records 0 to ${firstSeq - 1} were trimmed, but the archiver reports ${code} ${lostFirst} ${lostLast}`,
        )
      await archiver.close()
    }
    this.#errors = []
    this.#first = firstSeq
    for (const name of ['one', 'two']) {
      await this.#log.removeCursor(name)
      this.#start(name)
    }
  }

  async #archiveAll() {
    await this.#archivers.one.idle()
    await this.#reader.refresh()
    await this.#archivers.two.idle()
    for (const archiver of Object.values(this.#archivers)) await archiver.close()
  }

  async #check() {
    await this.#compare(this.#texts)
    const { histories } = await listArchive(this.#s3.access)
    this.#histories = histories.length
    for (const { generation, nextSeq } of histories) {
      const texts = this.#ended.get(generation)?.slice(0, nextSeq)
      if (texts?.length === nextSeq) await this.#compare(texts, { generation })
      else if (generation !== this.#log.generation) throw new Error(`history ${generation} ends before ${nextSeq}`)
    }
    const to = this.#first + 1 + this.#below(this.#texts.length - this.#first)
    await this.#compare(this.#texts.slice(0, to), { to })
    const replaced = this.#s3.overwritten.filter((key) => CREATED_ONCE.test(key))
    if (replaced.length > 0) throw new Error(`replaced: ${replaced}`)
  }

  /** Restores with `options`, and compares the result with `texts`. */
  async #compare(texts, options = {}) {
    const dir = join(this.#dir, 'restored')
    await restoreArchive(dir, { ...this.#s3.access, ...options })
    const copy = await open(dir, { readOnly: true })
    let next = this.#first
    for await (const { seq, data } of copy.read()) {
      if (seq !== next || data.toString() !== texts[seq])
        throw new Error(
          `restored ${JSON.stringify(options)}: ${seq} is ${data.subarray(0, 40)}, expected ${texts[next]?.slice(0, 40)}`,
        )
      next++
    }
    if (next !== texts.length)
      throw new Error(`restored ${JSON.stringify(options)}: ends before ${next}, expected ${texts.length}`)
    await copy.close()
    rmSync(dir, { recursive: true })
  }
}
