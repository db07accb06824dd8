/** Checks that a store has the properties that the archive depends on, above all conditional writes. */
import { randomUUID } from 'node:crypto'
import { DurlogError } from '../errors.js'
import type { Bucket, Condition } from './bucket.js'
import { sha256Of } from './piece.js'
import { ConditionFailed, StoreFailure } from './store-errors.js'
import type { ProbeFinding } from './types.js'

const RACERS = 32
/** Races are repeated, because a store that checks the condition and writes in two steps passes some of them. */
const RACES = 4
const BODY_BYTES = 1024

type Put = 'stored' | 'condition failed' | 'busy'

class Probe {
  readonly findings: ProbeFinding[] = []
  readonly #bucket: Bucket
  readonly #folder: string
  readonly #used = new Set<string>()

  constructor(bucket: Bucket, folder: string) {
    this.#bucket = bucket
    this.#folder = folder
  }

  async run(): Promise<ProbeFinding[]> {
    try {
      await this.#raceCreates()
      await this.#overwrites()
      await this.#raceReplacements()
      await this.#missing()
      await this.#readsAndLists()
    } finally {
      for (const key of this.#used) await this.#bucket.delete(key).catch(() => {})
    }
    return this.findings
  }

  #add(check: string, ok: boolean, found: string): void {
    this.findings.push({ check, ok, found: ok ? '' : found })
  }

  #key(name: string): string {
    const key = `${this.#folder}${name}`
    this.#used.add(key)
    return key
  }

  async #put(key: string, text: string, condition?: Condition): Promise<Put> {
    const body = Buffer.alloc(BODY_BYTES, text)
    try {
      await this.#bucket.put(key, body, { sha256: await sha256Of(body), metadata: { probe: text }, condition })
      return 'stored'
    } catch (error) {
      if (error instanceof ConditionFailed) return 'condition failed'
      // 409 is allowed while another write is in progress. Other failures do not show whether the store supports conditions.
      if (error instanceof StoreFailure && error.status === 409) return 'busy'
      throw error
    }
  }

  async #raceCreates(): Promise<void> {
    const winners: number[] = []
    let isWinners = true
    for (let race = 0; race < RACES; race++) {
      const key = this.#key(`create-${race}`)
      const won = await this.#race(key, { ifAbsent: true })
      winners.push(won.length)
      const content = (await this.#bucket.get(key))?.body.toString('utf8') ?? ''
      isWinners &&= won.some((text) => content === text.repeat(BODY_BYTES).slice(0, BODY_BYTES))
    }
    this.#addRace(`of ${RACERS} creates at once, exactly one succeeds`, winners)
    this.#add('the object is that of the create which succeeded', isWinners, 'it is another one')
  }

  async #raceReplacements(): Promise<void> {
    const winners: number[] = []
    for (let race = 0; race < RACES; race++) {
      const key = this.#key(`replace-${race}`)
      await this.#put(key, 'first', { ifAbsent: true })
      const etag = (await this.#bucket.get(key))?.etag ?? ''
      winners.push((await this.#race(key, { ifMatch: etag })).length)
    }
    this.#addRace(`of ${RACERS} writes with the same ETag at once, exactly one succeeds`, winners)
  }

  /** Makes several concurrent writes of one object. Returns the contents of the writes that succeeded. */
  async #race(key: string, condition: Condition): Promise<string[]> {
    const texts = Array.from({ length: RACERS }, (_, at) => `${at} `)
    const results = await Promise.all(texts.map((text) => this.#put(key, text, condition)))
    return texts.filter((_, at) => results[at] === 'stored')
  }

  #addRace(check: string, winners: readonly number[]): void {
    const wrong = winners.find((count) => count !== 1)
    this.#add(check, wrong === undefined, `${wrong} succeeded`)
  }

  async #overwrites(): Promise<void> {
    const key = this.#key('create-0')
    const result = await this.#put(key, 'again', { ifAbsent: true })
    this.#add('a create of an existing name fails', result === 'condition failed', result)
    const before = await this.#bucket.get(key)
    const first = await this.#put(key, 'replaced', { ifMatch: before?.etag ?? '' })
    this.#add('a write with the current ETag (If-Match) succeeds', first === 'stored', first)
    const stale = await this.#put(key, 'stale', { ifMatch: before?.etag ?? '' })
    this.#add('a write with an outdated ETag fails', stale === 'condition failed', stale)
  }

  async #missing(): Promise<void> {
    const result = await this.#put(this.#key('missing'), 'x', { ifMatch: '"0123456789abcdef0123456789abcdef"' })
    this.#add('a write with an ETag of a name that does not exist fails', result === 'condition failed', result)
  }

  async #readsAndLists(): Promise<void> {
    const key = this.#key('read')
    await this.#put(key, 'read', { ifAbsent: true })
    const object = await this.#bucket.get(key)
    this.#add(
      'a new object can be read at once, with its metadata',
      object?.body.length === BODY_BYTES && object.metadata['probe'] === 'read',
      object === undefined ? 'it is not found' : 'its content or its metadata differs',
    )
    const part = await this.#bucket.get(key, { offset: 1, length: 4 }).catch((error: unknown) => {
      if (error instanceof StoreFailure && error.status === 200) return undefined
      throw error
    })
    this.#add('a range can be read', part?.body.toString('utf8') === 'eadr', 'other bytes')
    const listed = await this.#bucket.list(this.#folder)
    this.#add(
      'a new object is listed at once',
      listed.some((entry) => entry.key === key),
      'it is not listed',
    )
    await this.#bucket.delete(key)
    const left = await this.#bucket.list(this.#folder)
    const gone = (await this.#bucket.get(key)) === undefined && !left.some((entry) => entry.key === key)
    this.#add('a deleted object is gone at once', gone, 'it can still be read or listed')
  }
}

/** Tests the store with a few objects below `folder`, and removes them afterwards. */
export async function probeStore(bucket: Bucket, folder: string): Promise<ProbeFinding[]> {
  return new Probe(bucket, `${folder}probe/${randomUUID()}/`).run()
}

/** Throws ERR_DURLOG_DESTINATION_REFUSED if the store fails a check. */
export async function checkStore(bucket: Bucket, folder: string): Promise<void> {
  const failed = (await probeStore(bucket, folder)).filter(({ ok }) => !ok)
  if (failed.length === 0) return
  const list = failed.map(({ check, found }) => `${check}: ${found}`).join('; ')
  throw new DurlogError(
    'ERR_DURLOG_DESTINATION_REFUSED',
    `${bucket.urlOf('')} is not safe for an archive. Failed checks, each with the result: ${list}. Use another store, or a newer version of this one`,
  )
}
