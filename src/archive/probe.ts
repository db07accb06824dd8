/** Checks that a store has the properties that the archive depends on, above all conditional writes. */
import { createHash, randomUUID } from 'node:crypto'
import { DurlogError } from '../errors.js'
import { attempts } from '../ship/backoff.js'
import type { Bucket, Condition } from './bucket.js'
import { sha256Of } from './piece.js'
import { ConditionFailed, StoreFailure } from './store-errors.js'
import type { ProbeFinding } from './types.js'

const RACERS = 32
/** Races are repeated, because a store that checks the condition and writes in two steps passes some of them. */
const RACES = 4
const BODY_BYTES = 1024
/** A step whose requests fail is repeated this many times before the probe reports the failure. */
const ATTEMPTS = 5
/** The version of the checks. A result of another version does not count. */
const VERSION = 1

type Put = 'stored' | 'condition failed' | 'unknown'

/** The outcome of several concurrent writes of one object. */
interface Race {
  /** The contents of the writes that succeeded. */
  won: string[]
  content: string
}

export class Probe {
  readonly #bucket: Bucket
  readonly #steps: (() => Promise<ProbeFinding[]>)[]
  readonly #findings: ProbeFinding[] = []
  readonly #creates: Race[] = []
  readonly #replacements: Race[] = []
  #done = 0
  /** The objects of the current attempt of a step. */
  #folder = ''
  readonly #used = new Set<string>()

  constructor(bucket: Bucket) {
    this.#bucket = bucket
    this.#steps = [
      ...Array.from({ length: RACES }, () => () => this.#raceCreates()),
      () => this.#judgeCreates(),
      () => this.#overwrites(),
      ...Array.from({ length: RACES }, () => () => this.#raceReplacements()),
      () => this.#judge('writes with the same ETag at once', this.#replacements),
      () => this.#missing(),
      () => this.#readsAndLists(),
    ]
  }

  /**
   * Tests the store with a few objects, and removes them. A step whose requests fail is repeated. After a StoreFailure,
   * another call continues with the step that failed.
   */
  async run(signal?: AbortSignal): Promise<ProbeFinding[]> {
    for (let step = this.#steps[this.#done]; step !== undefined; step = this.#steps[this.#done]) {
      this.#findings.push(...(await this.#repeated(step, signal)))
      this.#done++
    }
    return this.#findings
  }

  async #repeated(step: () => Promise<ProbeFinding[]>, signal: AbortSignal | undefined): Promise<ProbeFinding[]> {
    const attempt = async (): Promise<ProbeFinding[]> => {
      this.#folder = `${this.#bucket.prefix}probe/${randomUUID()}/`
      try {
        return await step()
      } finally {
        await this.#clean()
      }
    }
    const isTransient = (error: unknown): boolean => error instanceof StoreFailure
    return await attempts(ATTEMPTS, attempt, { isTransient, retryForMs: Number.POSITIVE_INFINITY, signal })
  }

  async #clean(): Promise<void> {
    for (const key of this.#used) await this.#bucket.delete(key).catch(() => {})
    this.#used.clear()
  }

  #key(name: string): string {
    const key = `${this.#folder}${name}`
    this.#used.add(key)
    return key
  }

  /** Writes an object. Throws StoreFailure if it is not known whether the store has written it. */
  async #put(key: string, text: string, condition?: Condition): Promise<'stored' | 'condition failed'> {
    const body = Buffer.alloc(BODY_BYTES, text)
    try {
      await this.#bucket.put(key, body, { sha256: await sha256Of(body), metadata: { probe: text }, condition })
      return 'stored'
    } catch (error) {
      if (error instanceof ConditionFailed) return 'condition failed'
      throw error
    }
  }

  async #raceCreates(): Promise<[]> {
    this.#creates.push(await this.#race(this.#key('create'), { ifAbsent: true }))
    return []
  }

  #judgeCreates(): Promise<ProbeFinding[]> {
    const isWinners = this.#creates.every(({ won, content }) =>
      won.some((text) => content === text.repeat(BODY_BYTES).slice(0, BODY_BYTES)),
    )
    const found = finding('the object is that of the create which succeeded', isWinners, 'it is another one')
    return this.#judge('creates at once', this.#creates, [found])
  }

  async #raceReplacements(): Promise<[]> {
    const key = this.#key('replace')
    await this.#put(key, 'first', { ifAbsent: true })
    const etag = (await this.#bucket.get(key))?.etag ?? ''
    this.#replacements.push(await this.#race(key, { ifMatch: etag }))
    return []
  }

  /**
   * Makes several concurrent writes of one object. A write that failed without a decision of the store is left out,
   * unless it may be the only one that has succeeded: then throws StoreFailure, so that the race is repeated.
   */
  async #race(key: string, condition: Condition): Promise<Race> {
    const texts = Array.from({ length: RACERS }, (_, at) => `${at} `)
    let failure: unknown
    const results = await Promise.all(
      texts.map((text) =>
        this.#put(key, text, condition).catch((error: unknown): Put => {
          if (!(error instanceof StoreFailure)) throw error
          failure = error
          // 409: another write is in progress, and this one was not made.
          return error.status === 409 ? 'condition failed' : 'unknown'
        }),
      ),
    )
    const decided = results.filter((result) => result !== 'unknown').length
    const won = texts.filter((_, at) => results[at] === 'stored')
    if (failure !== undefined && (won.length === 0 || (won.length === 1 && decided < RACERS / 2))) throw failure
    return { won, content: (await this.#bucket.get(key))?.body.toString('utf8') ?? '' }
  }

  #judge(what: string, races: readonly Race[], more: readonly ProbeFinding[] = []): Promise<ProbeFinding[]> {
    const wrong = races.find(({ won }) => won.length !== 1)
    const check = `of ${RACERS} ${what}, exactly one succeeds`
    return Promise.resolve([finding(check, wrong === undefined, `${wrong?.won.length} succeeded`), ...more])
  }

  async #overwrites(): Promise<ProbeFinding[]> {
    const key = this.#key('overwrite')
    await this.#put(key, 'first', { ifAbsent: true })
    const again = await this.#put(key, 'again', { ifAbsent: true })
    const before = await this.#bucket.get(key)
    const first = await this.#put(key, 'replaced', { ifMatch: before?.etag ?? '' })
    const stale = await this.#put(key, 'stale', { ifMatch: before?.etag ?? '' })
    return [
      finding('a create of an existing name fails', again === 'condition failed', again),
      finding('a write with the current ETag (If-Match) succeeds', first === 'stored', first),
      finding('a write with an outdated ETag fails', stale === 'condition failed', stale),
    ]
  }

  async #missing(): Promise<ProbeFinding[]> {
    const result = await this.#put(this.#key('missing'), 'x', { ifMatch: '"0123456789abcdef0123456789abcdef"' })
    const check = 'a write with an ETag of a name that does not exist fails'
    return [finding(check, result === 'condition failed', result)]
  }

  async #readsAndLists(): Promise<ProbeFinding[]> {
    const key = this.#key('read')
    await this.#put(key, 'read', { ifAbsent: true })
    const object = await this.#bucket.get(key)
    const isWhole = object?.body.length === BODY_BYTES && object.metadata['probe'] === 'read'
    const part = await this.#bucket.get(key, { offset: 1, length: 4 }).catch((error: unknown) => {
      if (error instanceof StoreFailure && error.status === 200) return undefined
      throw error
    })
    const listed = await this.#bucket.list(this.#folder)
    await this.#bucket.delete(key)
    const left = await this.#bucket.list(this.#folder)
    const isGone = (await this.#bucket.get(key)) === undefined && !left.some((entry) => entry.key === key)
    return [
      finding(
        'a new object can be read at once, with its metadata',
        isWhole,
        object === undefined ? 'it is not found' : 'its content or its metadata differs',
      ),
      finding('a range can be read', part?.body.toString('utf8') === 'eadr', 'other bytes'),
      finding(
        'a new object is listed at once',
        listed.some((entry) => entry.key === key),
        'it is not listed',
      ),
      finding('a deleted object is gone at once', isGone, 'it can still be read or listed'),
    ]
  }
}

function finding(check: string, ok: boolean, found: string): ProbeFinding {
  return { check, ok, found: ok ? '' : found }
}

/**
 * Tests the store, and stores the result at the prefix: archivers then agree with `probeBucket`, and the store is
 * tested once for all archives of the prefix.
 */
export async function probeStore(bucket: Bucket, probe: Probe, signal?: AbortSignal): Promise<ProbeFinding[]> {
  const findings = await probe.run(signal)
  const passed = findings.every(({ ok }) => ok) ? 'yes' : 'no'
  const body = Buffer.from(JSON.stringify({ version: VERSION, store: storeOf(bucket), passed }))
  await bucket.put(resultKey(bucket), body, { sha256: await sha256Of(body) })
  return findings
}

/**
 * Throws ERR_DURLOG_DESTINATION_REFUSED if the store has failed a check, now or at the last `probeStore` of the prefix.
 */
export async function checkStore(bucket: Bucket, probe: Probe, signal?: AbortSignal): Promise<void> {
  const known = await bucket.getJson(resultKey(bucket), (fields) => ({
    version: fields.whole('version'),
    store: fields.sha256('store'),
    passed: fields.choice('passed', ['yes', 'no']),
  }))
  if (known?.value.version === VERSION && known.value.store === storeOf(bucket)) {
    if (known.value.passed === 'yes') return
    throw unsafe(bucket, 'A test has failed before')
  }
  const failed = (await probeStore(bucket, probe, signal)).filter(({ ok }) => !ok)
  if (failed.length === 0) return
  const list = failed.map(({ check, found }) => `${check}: ${found}`).join('; ')
  throw unsafe(bucket, `Failed checks, each with the result: ${list}`)
}

function resultKey(bucket: Bucket): string {
  return `${bucket.prefix}probe.json`
}

/** Identifies the store of a result. The objects of a prefix may be copied to another store. */
function storeOf(bucket: Bucket): string {
  return createHash('sha256').update(bucket.url).digest('hex')
}

function unsafe(bucket: Bucket, reason: string): DurlogError {
  const url = bucket.urlOf('')
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_REFUSED',
    `${url} is not safe for an archive. ${reason}. Use another store, or a newer version of this one; after a change, "durlog doctor" with the URL of the prefix tests it again`,
  )
}
