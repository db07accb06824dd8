/**
 * Orders of a writer and two standbys that share an archive: each request arrives, and each answer is delivered, when
 * the schedule of a seed says so. A request may be delayed until after its sender has given up, and an answer may be
 * lost. The code is the real one; only the store is a fixture.
 *
 *   node test/replication/orders.mjs COUNT [FIRST SEED]
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { open } from 'durlog'
import { archiveTo, restoreArchive, takeOver } from 'durlog/archive'
import { randomFrom } from '../crash/payload.mjs'
import { FakeS3 } from '../fixtures/fake-s3.mjs'

const REPLICATED = { durability: 'replicated' }
const RECORDS = 3

/** Broken stores and standbys, each of which must be found. */
const BROKEN = ['no claim', 'claim after the first append', 'a late upload wins']

/** A log with one replicated record and its archive, from which every round begins. */
export async function makeBase(dir) {
  const s3 = await new FakeS3().start()
  const log = await open(join(dir, 'base'), { replicate: archiveTo({ ...s3.access, flushMs: 60_000 }) })
  await log.append('base', REPLICATED)
  await log.close()
  await s3.stop()
  return { dir: join(dir, 'base'), objects: new Map(s3.objects) }
}

export async function runOrder(base, dir, seed, broken) {
  const round = new Round(base, dir, seed, broken)
  try {
    return await round.run()
  } catch (error) {
    throw new Error(`seed ${seed}: ${error.message}\n${round.events.join('\n')}`, { cause: error })
  } finally {
    await round.close()
  }
}

/**
 * Returns the first broken promise that an order of the `broken` variant shows; undefined if none of 50 orders does.
 */
async function findBroken(base, dir, broken) {
  for (let seed = 1; seed <= 50; seed++) {
    const error = await runOrder(base, dir, seed, broken).then(
      () => undefined,
      (failure) => failure,
    )
    // Not any error: the harness must see a lost or doubled record.
    if (/acknowledged/.test(error?.cause?.message)) return `seed ${seed}: ${error.cause.message}`
  }
  return undefined
}

class Round {
  events = []
  #base
  #dir
  #random
  #broken
  /** Whether each record of a writer is in its own segment, which is sealed before or after the record is stored. */
  #rotates
  #s3
  #logs = []
  /** By name: `{ isDone, held }`, where `held` is the number of requests and answers that wait. */
  #actors = new Map()
  /** The requests and answers that wait for their turn. */
  #items = []
  #last
  #faults = 1
  /** By seq: the text that a writer has acknowledged. */
  #acknowledged = new Map()
  /** Fences that are stored later. */
  #lateFences = []
  #failure
  /** Called when an actor waits or is done. */
  #changed = () => {}
  fenced = 0
  takeovers = 0

  constructor(base, dir, seed, broken) {
    this.#base = base
    this.#dir = dir
    this.#random = randomFrom(seed)
    this.#rotates = broken === undefined ? [undefined, 'before', 'after'][seed % 3] : undefined
    this.#broken = broken
  }

  async run() {
    this.#s3 = await new FakeS3().start()
    this.#s3.objects = new Map(this.#base.objects)
    this.#acknowledged.set(0, 'base')
    cpSync(this.#base.dir, join(this.#dir, 'a'), { recursive: true })
    this.#s3.fault = (request) => this.#arrive(request)
    const running = [
      this.#act('a', () => this.#write('a')),
      this.#act('b', () => this.#promote('b')),
      this.#act('c', () => this.#promote('c')),
    ]
    await this.#schedule()
    if (this.#failure !== undefined) throw this.#failure
    await Promise.all(running)
    // Requests that are still on their way arrive at last.
    for (const { go } of this.#items.splice(0)) go('late')
    await this.#check()
    return { fenced: this.fenced, takeovers: this.takeovers }
  }

  async close() {
    for (const { go } of this.#items.splice(0)) go('late')
    for (const actor of this.#actors.values()) actor.isDone = true
    for (const log of this.#logs) await log.close().catch(() => {})
    await this.#s3?.stop()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  #below(n) {
    return Math.floor(this.#random() * n)
  }

  #access(name) {
    return { ...this.#s3.access, credentials: { accessKeyId: name, secretAccessKey: 'secret' } }
  }

  async #act(name, work) {
    const actor = { isDone: false, held: 0 }
    this.#actors.set(name, actor)
    try {
      await work()
    } catch (error) {
      if (error.code !== 'ERR_DURLOG_FENCED') {
        this.#failure ??= error
        return
      }
      this.fenced++
      this.events.push(`${name} is fenced`)
    } finally {
      actor.isDone = true
      this.#changed()
    }
  }

  async #write(name) {
    const log = await open(join(this.#dir, name), { replicate: archiveTo({ ...this.#access(name), flushMs: 60_000 }) })
    this.#logs.push(log)
    const acknowledged = []
    for (let i = 0; i < RECORDS; i++) {
      acknowledged.push(this.#append(log, name, `${name}${i}`))
      // A sealed segment is uploaded whole, also if an upload of its part is still on its way.
      if (this.#rotates !== 'before') await acknowledged.at(-1)
      // The whole segment is uploaded while the part of the next one is.
      if (this.#rotates !== undefined) await log.rotate()
    }
    await Promise.all(acknowledged)
  }

  async #append(log, name, text) {
    const seq = await log.append(text, REPLICATED)
    this.events.push(`${name} has acknowledged ${seq}`)
    const other = this.#acknowledged.get(seq)
    if (other !== undefined) throw new Error(`${text} and ${other} were both acknowledged as record ${seq}`)
    this.#acknowledged.set(seq, text)
    for (const { key, object } of this.#lateFences.splice(0)) this.#s3.objects.set(key, object)
  }

  async #promote(name) {
    const { generation } = await takeOver(join(this.#dir, name), this.#access(name))
    this.takeovers++
    this.events.push(`${name} has claimed generation ${generation}`)
    await this.#write(name)
  }

  async #arrive({ method, key, headers, body, abandon }) {
    const name = /Credential=(\w+)/.exec(headers.authorization ?? '')?.[1]
    const actor = this.#actors.get(name)
    if (actor === undefined || actor.isDone) return undefined
    const isFence = headers['x-amz-meta-durlog-fence'] !== undefined
    const order = await this.#turn(name, `${method} ${key.slice(-40)}`, method === 'PUT' ? ['give up'] : [])
    if (order === 'give up') {
      abandon()
      await this.#turn(undefined, `late ${method} ${key.slice(-40)} of ${name}`)
      return this.#effect(method, key, isFence ? body : undefined)
    }
    const answerAfter = () =>
      this.#turn(name, `answer to ${method} ${key.slice(-40)}`, method === 'PUT' ? ['lost'] : [])
    return { answerAfter, ...this.#effect(method, key, isFence ? body : undefined) }
  }

  /** The fault of a request in a broken variant. */
  #effect(method, key, fence) {
    this.#s3.ignoresConditions = false
    if (method !== 'PUT') return {}
    if (this.#broken === 'no claim' && fence !== undefined) return { pretends: true }
    if (this.#broken === 'claim after the first append' && fence !== undefined) {
      const object = { body: fence, etag: '"late"', metadata: { 'x-amz-meta-durlog-fence': '1' } }
      this.#lateFences.push({ key, object })
      return { pretends: true }
    }
    if (this.#broken === 'a late upload wins' && key.includes('/tail') && fence === undefined)
      this.#s3.ignoresConditions = true
    return {}
  }

  /** Waits for the turn of a request or an answer. One of `faults` may happen to it. */
  #turn(name, text, faults = []) {
    const actor = this.#actors.get(name)
    if (actor !== undefined) actor.held++
    return new Promise((resolve) => {
      this.#items.push({
        name,
        faults,
        go: (order) => {
          this.events.push(`${name ?? ''} ${text}${order === undefined ? '' : `: ${order}`}`)
          if (actor !== undefined) actor.held--
          resolve(order)
        },
      })
      this.#changed()
    })
  }

  /** Lets one request or answer at a time happen, whenever every actor waits. */
  async #schedule() {
    const actors = [...this.#actors.values()]
    while (this.#failure === undefined && actors.some(({ isDone }) => !isDone)) {
      if (!actors.every(({ isDone, held }) => isDone || held > 0)) {
        await new Promise((resolve) => {
          this.#changed = resolve
        })
        continue
      }
      const own = this.#items.filter(({ name }) => name === this.#last)
      const list = own.length > 0 && this.#below(4) > 0 ? own : this.#items
      const item = list[this.#below(list.length)]
      this.#items.splice(this.#items.indexOf(item), 1)
      this.#last = item.name
      const fails = item.faults.length > 0 && this.#faults > 0 && this.#below(6) === 0
      if (fails) this.#faults--
      item.go(fails ? item.faults[0] : undefined)
    }
  }

  async #check() {
    const dir = join(this.#dir, 'restored')
    await restoreArchive(dir, this.#s3.access)
    const log = await open(dir, { readOnly: true })
    const texts = []
    for await (const { data } of log.read()) texts.push(data.toString())
    await log.close()
    for (const [seq, text] of this.#acknowledged) {
      if (texts[seq] !== text)
        throw new Error(`record ${seq} was acknowledged as ${text}, and is restored as ${texts[seq]}`)
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , count = '100', first = '1'] = process.argv
  const dir = mkdtempSync(join(tmpdir(), 'durlog-orders-'))
  const base = await makeBase(dir)
  const total = { fenced: 0, takeovers: 0 }
  const begun = Date.now()
  for (let seed = Number(first); seed < Number(first) + Number(count); seed++) {
    const { fenced, takeovers } = await runOrder(base, join(dir, `${seed}`), seed)
    total.fenced += fenced
    total.takeovers += takeovers
  }
  console.log(`${count} orders: ${total.takeovers} takeovers, ${total.fenced} fenced, ${Date.now() - begun} ms`)
  for (const broken of BROKEN) {
    const found = await findBroken(base, join(dir, 'broken'), broken)
    console.log(`${broken}: ${found ?? 'NOT FOUND'}`)
    if (found === undefined) process.exitCode = 1
  }
  rmSync(dir, { recursive: true, force: true })
  // A takeover of a broken round may still wait for its store.
  process.exit()
}
