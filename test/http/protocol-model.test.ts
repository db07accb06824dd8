/**
 * Random sequences of requests, judged by a small model of the protocol. DURLOG_PROTOCOL_SEQUENCES sets their number,
 * DURLOG_PROTOCOL_SEED chooses them: `npm run trial -- protocol`.
 */
import { expect, test, vi } from 'vitest'
import { streamsHandler } from '../../src/http/index.js'
import { scratchStreams } from '../fixtures/streams.js'
import { pickOf, random } from './hostile-requests.js'

const time = vi.hoisted(() => ({ shiftMs: 0 }))
vi.mock('../../src/timers.js', async (actual) => {
  const timers = await actual<typeof import('../../src/timers.js')>()
  return { ...timers, clock: { now: () => timers.clock.now() + time.shiftMs } }
})

const SEQUENCES = Number(process.env['DURLOG_PROTOCOL_SEQUENCES'] ?? 50)
const SEED = Number(process.env['DURLOG_PROTOCOL_SEED'] ?? 1)
const TIMEOUT_MS = 120_000 + SEQUENCES * 100
const STEPS = 40
const TTL_SECONDS = 100
const JSON_TYPE = 'application/json'
const TEXT_TYPE = 'text/plain'

/** One stream, from its creation to its deletion. */
interface Life {
  type: string
  values: string[]
  closed: boolean
  /** The producer that has closed it, and its seq. */
  closedBy: string
  ttl: number | undefined
  usedMs: number
  producers: Map<string, { epoch: number; seq: number }>
  writerSeq: string
  source: Life | undefined
  /** The number of records of the source. */
  start: number
  forks: number
  softDeleted: boolean
}

interface Place {
  life: Life
  seq: number
}
interface Tag extends Place {
  next: number
  closed: boolean
}

interface Answer {
  status: number
  /** The stream and the seq of Stream-Next-Offset. */
  next?: Place
  body?: string
  closed?: boolean
  /** The read that the ETag identifies. */
  tag?: Tag
}

const status = (code: number): Answer => ({ status: code })
const closedAnswer = (life: Life): Answer => ({ status: 409, closed: true, next: end(life) })
const end = (life: Life): Place => ({ life, seq: life.values.length })
const bodyOf = ({ type }: Life, values: readonly string[]): string =>
  type === JSON_TYPE ? `[${values.join(',')}]` : values.join('')

/** The values of a body; undefined if it is malformed. */
function valuesOf(type: string, body: string): string[] | undefined {
  if (type !== JSON_TYPE) return body === '' ? [] : [body]
  try {
    const value: unknown = JSON.parse(body)
    return Array.isArray(value) ? value.map(String) : [String(value)]
  } catch {
    return undefined
  }
}

interface Put {
  type: string
  body: string
  closed: boolean
  ttl: number | undefined
  from: string | undefined
  at: Place | undefined
}
interface Post {
  type: string
  body: string
  closes: boolean
  producer: { id: string; epoch: number; seq: number } | undefined
  writerSeq: string | undefined
}
interface Get {
  at: Place | '-1' | 'now'
  live: boolean
  tag: Tag | undefined
}

class Model {
  readonly lives = new Map<string, Life>()

  put(name: string, { type, body, closed, ttl, from, at }: Put): Answer {
    const source = from === undefined ? undefined : this.lives.get(from)
    if (from !== undefined && source === undefined) return status(404)
    if (source !== undefined && at !== undefined) {
      if (at.seq > source.values.length) return status(400)
      if (!isPlaceOf(source, at)) return status(410)
    }
    if (source !== undefined && source.type !== type) return status(409)
    const values = body === '' ? [] : valuesOf(type, body)
    if (values === undefined) return status(400)
    const found = this.lives.get(name)
    if (found?.softDeleted === true) return status(409)
    const ownTtl = ttl ?? source?.ttl
    if (found !== undefined) {
      const isFork = found.source === source && (source === undefined || at === undefined || at.seq === found.start)
      if (found.type !== type || found.ttl !== ownTtl || !isFork || found.closed !== closed) return status(409)
      return { status: 200, next: end(found), closed }
    }
    if (source?.softDeleted === true) return status(409)
    const start = source === undefined ? 0 : (at?.seq ?? source.values.length)
    const inherited = source?.values.slice(0, start) ?? []
    const made = { type, closed, closedBy: '', ttl: ownTtl, usedMs: time.shiftMs, writerSeq: '', source, start }
    const life: Life = {
      ...made,
      values: [...inherited, ...values],
      producers: new Map(),
      forks: 0,
      softDeleted: false,
    }
    if (source !== undefined) source.forks++
    this.lives.set(name, life)
    return { status: 201, next: end(life), closed }
  }

  post(name: string, { type, body, closes, producer, writerSeq }: Post): Answer {
    const life = this.lives.get(name)
    if (life === undefined) return status(404)
    if (life.softDeleted) return status(410)
    if (body === '' && !closes) return status(400)
    if (body !== '' && type !== life.type) return life.closed ? closedAnswer(life) : status(409)
    const values = body === '' ? [] : valuesOf(type, body)
    if (values === undefined || (body !== '' && values.length === 0)) return status(400)
    const last = producer && life.producers.get(producer.id)
    if (producer !== undefined) {
      const next = last?.epoch === producer.epoch ? last.seq + 1 : 0
      const refused = last !== undefined && producer.epoch < last.epoch ? 403 : undefined
      if (refused === undefined && producer.seq < next) {
        const closing = life.closedBy === producer.id && producer.seq === last?.seq
        return life.closed && !closing ? closedAnswer(life) : { status: 204, next: end(life), closed: life.closed }
      }
      const gap = producer.seq > next ? (last !== undefined && producer.epoch > last.epoch ? 400 : 409) : undefined
      if (refused !== undefined || gap !== undefined)
        return life.closed ? closedAnswer(life) : status(refused ?? (gap as number))
    }
    if (life.closed)
      return body === '' && producer === undefined ? { status: 204, next: end(life), closed: true } : closedAnswer(life)
    if (writerSeq !== undefined && writerSeq <= life.writerSeq) return status(409)
    if (producer !== undefined) life.producers.set(producer.id, producer)
    life.values.push(...values)
    life.writerSeq = writerSeq ?? life.writerSeq
    life.usedMs = time.shiftMs
    if (closes) [life.closed, life.closedBy] = [true, producer?.id ?? '']
    return { status: producer !== undefined && values.length > 0 ? 200 : 204, next: end(life), closed: closes }
  }

  get(name: string, { at, live, tag }: Get): Answer {
    const life = this.lives.get(name)
    if (life === undefined) return status(404)
    if (life.softDeleted) return status(410)
    life.usedMs = time.shiftMs
    const { closed } = life
    const next = end(life)
    if (at === 'now') return { status: 200, next, closed, body: bodyOf(life, []) }
    if (at !== '-1' && (!isPlaceOf(life, at) || at.seq > next.seq)) return status(410)
    const seq = at === '-1' ? 0 : at.seq
    if (live && seq === next.seq) return { status: 204, next, closed }
    const own: Tag = { life, seq, next: next.seq, closed }
    if (
      tag !== undefined &&
      JSON.stringify({ ...tag, life: 0 }) === JSON.stringify({ ...own, life: 0 }) &&
      tag.life === life
    )
      return { status: 304, next, closed, tag: own }
    return { status: 200, next, closed, tag: own, body: bodyOf(life, life.values.slice(seq)) }
  }

  head(name: string): Answer {
    const life = this.lives.get(name)
    return life === undefined ? status(404) : life.softDeleted ? status(410) : { status: 200, next: end(life) }
  }

  delete(name: string): Answer {
    const life = this.lives.get(name)
    if (life === undefined) return status(404)
    if (life.softDeleted) return status(410)
    this.#remove(life)
    return status(204)
  }

  /** Removes the streams that have expired. */
  expire(): void {
    for (const life of [...this.lives.values()])
      if (!life.softDeleted && life.ttl !== undefined && time.shiftMs - life.usedMs > life.ttl * 1000)
        this.#remove(life)
  }

  #remove(life: Life): void {
    life.softDeleted = true
    for (let at: Life | undefined = life; at?.softDeleted === true && at.forks === 0; at = at.source) {
      for (const [other, one] of this.lives) if (one === at) this.lives.delete(other)
      if (at.source !== undefined) at.source.forks--
    }
  }
}

/** Whether `place` was a position of this stream, or of the part that it has of its source. */
function isPlaceOf(life: Life, { life: wanted, seq }: Place): boolean {
  let at = life
  while (at !== wanted && at.source !== undefined && seq <= at.start) at = at.source
  return at === wanted
}

const digits = (seq: number): string => String(seq).padStart(16, '0')

test(`sequences of requests are answered as the model does (seed ${SEED})`, { timeout: TIMEOUT_MS }, async () => {
  const next = random(SEED)
  const pick = pickOf(next)
  const chance = (share: number): boolean => next() < share
  const { streams, reopen } = await scratchStreams({ durability: 'memory' })
  let { fetch } = streamsHandler(streams)
  for (let sequence = 0; sequence < SEQUENCES; sequence++) {
    const model = new Model()
    const names = ['a', 'b', 'c'].map((name) => `${name}${sequence}`)
    const identities = new Map<Life, string>()
    const places: Place[] = []
    const tags: { tag: Tag; text: string }[] = []
    const trace: unknown[] = []
    const offsetOf = ({ life, seq }: Place): string => `${identities.get(life) as string}_${digits(seq)}`

    /** Sends the request, and compares its answer with that of the model. */
    const judge = async (expected: Answer, method: string, path: string, headers: object, body?: string) => {
      const init = { method, headers: { ...headers } as Record<string, string>, body: body ?? null }
      const answer = await fetch(new Request(`http://host.example/${path}`, init))
      const text = await answer.text()
      trace.push([method, path, headers, body, answer.status, text.slice(0, 80)])
      const offset = answer.headers.get('stream-next-offset') ?? ''
      const got: Answer & { offset?: string } = { status: answer.status }
      const wanted: Answer & { offset?: string } = { status: expected.status }
      const { next: end, tag } = expected
      if (end !== undefined) {
        // The first offset of a life tells its identity.
        if (!identities.has(end.life)) identities.set(end.life, offset.slice(0, 16))
        got.offset = offset
        wanted.offset = offsetOf(end)
        places.push(end)
      }
      if (expected.closed !== undefined) {
        got.closed = answer.headers.get('stream-closed') === 'true'
        wanted.closed = expected.closed
      }
      if (expected.body !== undefined) {
        got.body = text
        wanted.body = expected.body
      }
      if (JSON.stringify(got) !== JSON.stringify(wanted))
        expect({ sequence, trace, got }).toEqual({ sequence, trace, got: wanted })
      if (tag !== undefined) tags.push({ tag, text: answer.headers.get('etag') as string })
    }

    /** Repeats a read with its ETag, in half of the cases after the stream was closed without data. */
    const repeat = async ({ tag, text }: (typeof tags)[0]): Promise<void> => {
      const [name] = [...model.lives].find(([, life]) => life === tag.life) ?? []
      if (name === undefined) return
      const headers = { 'content-type': tag.life.type, 'stream-closed': 'true' }
      const close: Post = { type: tag.life.type, body: '', closes: true, producer: undefined, writerSeq: undefined }
      if (chance(0.5)) await judge(model.post(name, close), 'POST', name, headers, '')
      const answer = model.get(name, { at: tag, live: false, tag })
      await judge(answer, 'GET', `${name}?offset=${offsetOf(tag)}`, { 'if-none-match': text })
    }

    const step = async (): Promise<void> => {
      const name = pick(names)
      const type = chance(0.9) ? JSON_TYPE : TEXT_TYPE
      const body = pick(['', '1', '[2,3]', '[4]', '[6,7,8]', '9', '[]', '[5,'])
      const place = places.length > 0 && chance(0.6) ? pick(places) : undefined
      if (tags.length > 0 && chance(0.1)) return repeat(pick(tags.slice(-3)))
      const kind = pick(['put', 'put', 'post', 'post', 'post', 'post', 'get', 'get', 'get', 'head', 'delete', 'time'])
      if (kind === 'put') {
        const from = chance(0.4) ? pick(names) : undefined
        const put: Put = {
          type,
          body,
          closed: chance(0.2),
          ttl: chance(0.2) ? TTL_SECONDS : undefined,
          from,
          at: place,
        }
        if (from === undefined || from === name) [put.from, put.at] = [undefined, undefined]
        const headers = {
          'content-type': type,
          ...(put.closed && { 'stream-closed': 'true' }),
          ...(put.ttl !== undefined && { 'stream-ttl': String(put.ttl) }),
          ...(put.from !== undefined && { 'stream-forked-from': `/${put.from}` }),
          ...(put.at !== undefined && { 'stream-fork-offset': offsetOf(put.at) }),
        }
        await judge(model.put(name, put), 'PUT', name, headers, body)
      } else if (kind === 'post') {
        const producer = chance(0.5)
          ? { id: pick(['p', 'q']), epoch: pick([0, 0, 1]), seq: pick([0, 1, 2]) }
          : undefined
        const writerSeq = chance(0.2) ? pick(['1', '2', '3']) : undefined
        const headers = {
          'content-type': type,
          ...(producer && {
            'producer-id': producer.id,
            'producer-epoch': String(producer.epoch),
            'producer-seq': String(producer.seq),
          }),
          ...(writerSeq !== undefined && { 'stream-seq': writerSeq }),
        }
        const closes = chance(0.15)
        const sent = closes ? { ...headers, 'stream-closed': 'true' } : headers
        await judge(model.post(name, { type, body, closes, producer, writerSeq }), 'POST', name, sent, body)
      } else if (kind === 'get') {
        const at = place ?? pick(['-1', 'now'] as const)
        const tag = tags.length > 0 && chance(0.5) ? pick(tags.slice(-3)) : undefined
        // A live read at the end of an open stream waits.
        const live = chance(0.3) && at !== 'now' && (model.lives.get(name)?.closed ?? true)
        const query = `offset=${typeof at === 'string' ? at : offsetOf(at)}${live ? '&live=long-poll' : ''}`
        const headers = tag === undefined ? {} : { 'if-none-match': tag.text }
        await judge(model.get(name, { at, live, tag: tag?.tag }), 'GET', `${name}?${query}`, headers)
      } else if (kind === 'head') await judge(model.head(name), 'HEAD', name, {})
      else if (kind === 'delete') {
        if (chance(0.5)) await judge(model.delete(name), 'DELETE', name, {})
      } else if (chance(0.3)) {
        time.shiftMs += pick([0.6, 0.6, 1.1]) * TTL_SECONDS * 1000
        model.expire()
        // An append removes an expired stream, also the last fork of a deleted one.
        for (const one of names) await fetch(new Request(`http://host.example/${one}`, { method: 'POST' }))
        const nothing: Post = { type, body: '', closes: false, producer: undefined, writerSeq: undefined }
        for (const one of names) await judge(model.post(one, nothing), 'POST', one, { 'content-type': type }, '')
      } else if (chance(0.1)) await streams.checkpoint().catch(() => {})
    }
    const first: Put = { type: JSON_TYPE, body: '[1]', closed: false, ttl: undefined, from: undefined, at: undefined }
    for (const name of names.slice(1))
      await judge(model.put(name, first), 'PUT', name, { 'content-type': JSON_TYPE }, first.body)
    for (let at = 0; at < STEPS; at++) await step()
    if (sequence % 50 === 49) ({ fetch } = streamsHandler(await reopen()))
  }
})
