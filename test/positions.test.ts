/**
 * Each kind of position that the package gives out, after each event that may change the data to which it points: it
 * continues in the same data, or it is refused.
 */
import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { restoreArchive, takeOver as takeOverArchive } from '../src/archive/index.js'
import { serveLog, streamsHandler } from '../src/http/index.js'
import { type Log, open, type ReadableLog } from '../src/index.js'
import { restore as restoreStream, takeOver as takeOverStream } from '../src/jetstream/index.js'
import { openStreams, type Streams } from '../src/streams/index.js'
import { archiveAll, store } from './fixtures/archive.js'
import { missingServer, type NatsServer, startServer } from './fixtures/nats.mjs'
import { codeOf, scratchDir } from './fixtures/scratch.js'
import { admin, makeStream, STREAM, SUBJECT, shipper } from './fixtures/ship.js'
import { all } from './fixtures/streams.js'

if (missingServer !== '') process.stdout.write(`skipped: ${missingServer}\n`)

/** Every position points directly after these records, which have the seqs 0 to 2. */
const FIRST = ['a0', 'a1', 'a2']
/** The number of records that an older copy of the folder holds. */
const COPIED = 2
/** The records that an event adds from the seq `from` on. */
const others = (from: number, end: number): string[] => Array.from({ length: end - from }, (_, at) => `b${from + at}`)

/** Resolves to the records with which a position continues, or to the code of its refusal. */
async function answerOf(action: Promise<readonly string[]>): Promise<string> {
  const code = await codeOf(action)
  return code === 'none' ? (await action).join(' ') : code
}

/** Puts an older copy of the folder back, in its place or over its files. */
function putBack(dir: string, over: boolean): void {
  if (!over) rmSync(dir, { recursive: true })
  cpSync(`${dir} older`, dir, { recursive: true })
}

// Logs

/** The other place to which a log is copied. */
interface Destination {
  copy(log: ReadableLog): Promise<void>
  restore(dir: string, uuid?: string): Promise<unknown>
  takeOver(dir: string): Promise<unknown>
  /** Follows the log into the replica in `dir` until it has all records. */
  follow(dir: string): Promise<unknown>
}

async function toArchive(): Promise<Destination> {
  const s3 = await store()
  return {
    copy: (log) => archiveAll(log, s3),
    restore: (dir, uuid) => restoreArchive(dir, { ...s3.access, uuid }),
    takeOver: (dir) => takeOverArchive(dir, s3.access),
    follow: (dir) =>
      untilCaughtUp((ending) => restoreArchive(dir, { ...s3.access, follow: true, pollMs: 1, ...ending })),
  }
}

const serverDir = mkdtempSync(join(tmpdir(), 'durlog-test-'))
let running: NatsServer | undefined
afterAll(async () => {
  await running?.kill()
  rmSync(serverDir, { recursive: true })
})

/** All tests use one server, whose stream is made again. */
async function toJetStream(): Promise<Destination> {
  running ??= await startServer(serverDir)
  const nats = running
  const look = await admin(nats)
  await look.manager.streams.delete(STREAM).catch(() => {})
  await makeStream(look)
  const options = { servers: nats.url, stream: STREAM, subject: SUBJECT }
  return {
    copy: async (log) => {
      await using shipping = shipper(log, nats)
      shipping.on('error', () => {})
      await shipping.idle()
    },
    restore: (dir) => restoreStream(dir, options),
    takeOver: (dir) => takeOverStream(dir, options),
    follow: (dir) => untilCaughtUp((ending) => restoreStream(dir, { ...options, follow: true, ...ending })),
  }
}

async function untilCaughtUp(
  follow: (ending: { signal: AbortSignal; onCaughtUp: () => void }) => Promise<unknown>,
): Promise<void> {
  const ending = new AbortController()
  await follow({ signal: ending.signal, onCaughtUp: () => ending.abort() })
}

/** The log of the records `FIRST`, which are in `destination` too. */
interface Stage {
  dir: string
  readonly destination: Destination
}

async function withLog<T>(dir: string, use: (log: Log) => Promise<T>): Promise<T> {
  const log = await open(dir)
  try {
    return await use(log)
  } finally {
    await log.close()
  }
}

async function append(log: Log, values: readonly string[]): Promise<void> {
  for (const value of values) await log.append(JSON.stringify(value))
  await log.sync()
}

async function recordsOf(dir: string): Promise<string[]> {
  await using log = await open(dir, { readOnly: true })
  return (await all(log.read())).map(({ data }) => JSON.parse(data.toString()))
}

async function stageOf(destination: Destination): Promise<Stage> {
  const dir = join(scratchDir(), 'log')
  await withLog(dir, async (log) => append(log, FIRST.slice(0, COPIED)))
  cpSync(dir, `${dir} older`, { recursive: true })
  await withLog(dir, async (log) => {
    await append(log, FIRST.slice(COPIED))
    await destination.copy(log)
  })
  return { dir, destination }
}

/** Changes the log, which has the seqs before `end` afterwards. */
type LogEvent = (stage: Stage, end: number) => Promise<unknown>

const appendOthers = (dir: string, end: number): Promise<void> =>
  withLog(dir, (log) => append(log, others(log.nextSeq, end)))

async function trimTo(first: number, { dir }: Stage, end: number): Promise<void> {
  await withLog(dir, async (log) => {
    await append(log, others(log.nextSeq, first))
    await log.rotate()
    await append(log, others(log.nextSeq, end))
    expect(await log.trimBefore(first)).toBe(first)
  })
}

const LOG_EVENTS = {
  'another log has its place': async ({ dir }, end) => {
    rmSync(dir, { recursive: true })
    await appendOthers(dir, end)
  },
  'it was restored': async (stage, end) => {
    stage.dir = join(scratchDir(), 'restored')
    await stage.destination.restore(stage.dir)
    await appendOthers(stage.dir, end)
  },
  'it was truncated': async ({ dir }, end) => {
    await withLog(dir, (log) => log.truncateAfter(COPIED - 1))
    await appendOthers(dir, end)
  },
  'an older copy has its place': async ({ dir }, end) => {
    putBack(dir, false)
    await appendOthers(dir, end)
  },
  'an older copy was put over it': async ({ dir }, end) => {
    putBack(dir, true)
    await appendOthers(dir, end)
  },
  'a copy has taken over': async (stage, end) => {
    stage.dir = join(scratchDir(), 'successor')
    await stage.destination.takeOver(stage.dir)
    await appendOthers(stage.dir, end)
  },
  'the records before it were trimmed': (stage, end) => trimTo(3, stage, end),
  'the next records were trimmed': (stage, end) => trimTo(4, stage, end),
  'the folder was renamed': async (stage, end) => {
    renameSync(stage.dir, `${stage.dir} renamed`)
    stage.dir += ' renamed'
    await appendOthers(stage.dir, end)
  },
} satisfies Record<string, LogEvent>

/** Takes a position, and returns a function that continues at it. */
type LogPlace = (stage: Stage) => Promise<() => Promise<readonly string[]>>

/** The JSON of an answer, or a refusal. */
async function jsonOf(answer: Response): Promise<readonly string[]> {
  if (answer.status === 200) return ((await answer.json()) as string[]).map((text) => text.slice(0, 2))
  throw Object.assign(new Error(), { code: String(answer.status) })
}

async function fetchLog<T>(dir: string, use: (url: string) => Promise<T>): Promise<T> {
  await using log = await serveLog(dir, { port: 0, contentType: 'application/json' })
  return await use(log.url)
}

const LOG_PLACES = {
  isCurrent: async (stage) => {
    const position = await withLog(stage.dir, async (log) => {
      const { uuid, generation } = log
      return { uuid, generation, seq: 2, checksum: await log.checksum(2) }
    })
    return () =>
      withLog(stage.dir, async (log) => {
        if (!(await log.isCurrent(position))) return ['not current']
        return (await all(log.read({ from: position.seq + 1 }))).map(({ data }) => JSON.parse(data.toString()))
      })
  },
  'a cursor': async (stage) => {
    const rest = (log: Log, commits: boolean): Promise<string[]> =>
      log.cursor('c').then(async (cursor) => {
        const found = await all(cursor.read())
        if (commits) await cursor.commit(2, { durability: 'sync' })
        return found.map(({ data }) => JSON.parse(data.toString()))
      })
    await withLog(stage.dir, async (log) => {
      await rest(log, true)
      // A restore brings the positions of cursors back.
      await stage.destination.copy(log)
    })
    return () => withLog(stage.dir, (log) => rest(log, false))
  },
  'an offset of a served log': async (stage) => {
    const offset = await fetchLog(stage.dir, async (url) => (await fetch(url)).headers.get('stream-next-offset'))
    return () => fetchLog(stage.dir, async (url) => jsonOf(await fetch(`${url}?offset=${offset}`)))
  },
  'an ETag of a served log': async (stage) => {
    const etag = await fetchLog(stage.dir, async (url) => (await fetch(url)).headers.get('etag') as string)
    return () => fetchLog(stage.dir, async (url) => jsonOf(await fetch(url, { headers: { 'if-none-match': etag } })))
  },
  'the position of the copier': async (stage) => () =>
    withLog(stage.dir, async (log) => {
      await stage.destination.copy(log)
      const dir = join(scratchDir(), 'copy')
      await stage.destination.restore(dir, log.uuid)
      return recordsOf(dir)
    }),
  'the position of a replica': async (stage) => {
    const dir = join(scratchDir(), 'replica')
    await stage.destination.follow(dir)
    return async () => {
      await withLog(stage.dir, (log) => stage.destination.copy(log)).catch(() => {})
      // Ends the replica.
      await stage.destination.restore(dir)
      return recordsOf(dir)
    }
  },
} satisfies Record<string, LogPlace>

async function resumedLog(
  destination: Destination,
  place: keyof typeof LOG_PLACES,
  event: keyof typeof LOG_EVENTS,
): Promise<string> {
  const stage = await stageOf(destination)
  const resume = await LOG_PLACES[place](stage)
  // An ETag belongs to records up to an end, which must be the same afterwards.
  await LOG_EVENTS[event](stage, place.includes('ETag') ? FIRST.length : FIRST.length + 2)
  return answerOf(resume())
}

type LogRow = Record<keyof typeof LOG_EVENTS, string>

/** After a restore or a takeover the data are the same, but of a later generation: see docs/SNAPSHOTS.md. */
const LOG_TABLE: Record<'archive' | 'JetStream', Partial<Record<keyof typeof LOG_PLACES, LogRow>>> = {
  archive: {
    isCurrent: {
      'another log has its place': 'not current',
      'it was restored': 'not current',
      'it was truncated': 'not current',
      'an older copy has its place': 'not current',
      'an older copy was put over it': 'not current',
      'a copy has taken over': 'not current',
      'the records before it were trimmed': 'b3 b4',
      'the next records were trimmed': 'ERR_DURLOG_OUT_OF_RANGE',
      'the folder was renamed': 'b3 b4',
    },
    'a cursor': {
      'another log has its place': 'b0 b1 b2 b3 b4',
      'it was restored': 'b3 b4',
      'it was truncated': 'ERR_DURLOG_CURSOR_CUT',
      'an older copy has its place': 'a0 a1 b2 b3 b4',
      'an older copy was put over it': 'ERR_DURLOG_CURSOR_CUT',
      'a copy has taken over': 'b3 b4',
      'the records before it were trimmed': 'b3 b4',
      'the next records were trimmed': 'ERR_DURLOG_CURSOR_OVERRUN',
      'the folder was renamed': 'b3 b4',
    },
    'an offset of a served log': {
      'another log has its place': '410',
      'it was restored': '410',
      'it was truncated': '410',
      'an older copy has its place': 'b3 b4',
      'an older copy was put over it': '410',
      'a copy has taken over': '410',
      'the records before it were trimmed': 'b3 b4',
      'the next records were trimmed': '410',
      'the folder was renamed': 'b3 b4',
    },
    'an ETag of a served log': {
      'another log has its place': 'b0 b1 b2',
      'it was restored': 'a0 a1 a2',
      'it was truncated': 'a0 a1 b2',
      'an older copy has its place': 'a0 a1 b2',
      'an older copy was put over it': 'a0 a1 b2',
      'a copy has taken over': 'a0 a1 a2',
      'the records before it were trimmed': '',
      'the next records were trimmed': '',
      'the folder was renamed': '304',
    },
    'the position of the copier': {
      'another log has its place': 'b0 b1 b2 b3 b4',
      'it was restored': 'a0 a1 a2 b3 b4',
      'it was truncated': 'a0 a1 b2 b3 b4',
      'an older copy has its place': 'ERR_DURLOG_DESTINATION_OTHER',
      'an older copy was put over it': 'a0 a1 b2 b3 b4',
      'a copy has taken over': 'a0 a1 a2 b3 b4',
      'the records before it were trimmed': 'a0 a1 a2 b3 b4',
      'the next records were trimmed': 'ERR_DURLOG_DESTINATION_GAP',
      'the folder was renamed': 'a0 a1 a2 b3 b4',
    },
    'the position of a replica': {
      'another log has its place': 'ERR_DURLOG_NOT_FOUND',
      'it was restored': 'a0 a1 a2 b3 b4',
      'it was truncated': 'ERR_DURLOG_NOT_EMPTY',
      'an older copy has its place': 'a0 a1 a2',
      'an older copy was put over it': 'ERR_DURLOG_NOT_EMPTY',
      'a copy has taken over': 'a0 a1 a2 b3 b4',
      'the records before it were trimmed': 'a0 a1 a2 b3 b4',
      'the next records were trimmed': 'a0 a1 a2',
      'the folder was renamed': 'a0 a1 a2 b3 b4',
    },
  },
  JetStream: {
    'the position of the copier': {
      'another log has its place': 'ERR_DURLOG_DESTINATION_OTHER',
      'it was restored': 'a0 a1 a2 b3 b4',
      'it was truncated': 'ERR_DURLOG_DESTINATION_OTHER',
      'an older copy has its place': 'ERR_DURLOG_DESTINATION_OTHER',
      'an older copy was put over it': 'ERR_DURLOG_DESTINATION_OTHER',
      'a copy has taken over': 'a0 a1 a2 b3 b4',
      'the records before it were trimmed': 'a0 a1 a2 b3 b4',
      'the next records were trimmed': 'ERR_DURLOG_DESTINATION_GAP',
      'the folder was renamed': 'a0 a1 a2 b3 b4',
    },
    'the position of a replica': {
      'another log has its place': 'a0 a1 a2',
      'it was restored': 'a0 a1 a2 b3 b4',
      'it was truncated': 'a0 a1 a2',
      'an older copy has its place': 'a0 a1 a2',
      'an older copy was put over it': 'a0 a1 a2',
      'a copy has taken over': 'a0 a1 a2 b3 b4',
      'the records before it were trimmed': 'a0 a1 a2 b3 b4',
      'the next records were trimmed': 'a0 a1 a2',
      'the folder was renamed': 'a0 a1 a2 b3 b4',
    },
  },
}

describe.each(Object.entries(LOG_TABLE))('of a log, copied to %s,', (kind, table) => {
  for (const [place, row] of Object.entries(table))
    for (const [event, expected] of Object.entries(row))
      test.skipIf(kind === 'JetStream' && missingServer !== '')(`${place}, after ${event}: ${expected}`, async () => {
        const destination = kind === 'archive' ? await toArchive() : await toJetStream()
        expect(await resumedLog(destination, place as keyof typeof LOG_PLACES, event as keyof typeof LOG_EVENTS)).toBe(
          expected,
        )
      })
})

// Streams

/** A stream with this limit keeps its newest record only, if all are as long as `long` makes them. */
const LIMIT_BYTES = 65_536
const long = (value: string): string => value + '.'.repeat(LIMIT_BYTES) + value
const short = (value: unknown): string => (value as string).slice(0, 2)

interface Folder {
  dir: string
  readonly destination: Destination
  /** Makes the values of records. */
  readonly text: (value: string) => string
}

async function withStreams<T>(dir: string, use: (streams: Streams<unknown>) => Promise<T>): Promise<T> {
  const streams = await openStreams(dir, { exclusive: true, checkpointMs: 3_600_000 })
  try {
    return await use(streams as Streams<unknown>)
  } finally {
    await streams.close()
  }
}

const appendMore = ({ dir, text }: Folder, end: number): Promise<void> =>
  withStreams(dir, async (streams) => {
    const stream = streams.stream('s')
    const { nextSeq = 0 } = (await stream.info()) ?? {}
    for (const value of others(nextSeq, end)) await stream.append(text(value))
  })

interface StreamEvent {
  /** Creates the stream `s`, if it needs more than an append. */
  create?: (streams: Streams<unknown>) => Promise<unknown>
  happen(folder: Folder, end: number): Promise<unknown>
}

const makeFork = async (streams: Streams<unknown>): Promise<void> => {
  const source = streams.stream('a')
  if ((await source.info()) === undefined) await source.appendAll(FIRST.slice(0, COPIED))
  await streams.stream('s').create({ fork: { stream: 'a', seq: COPIED } } as object)
}
const withRetention = (streams: Streams<unknown>): Promise<unknown> =>
  streams.stream('s').create({ retention: { maxBytes: LIMIT_BYTES } })

/** The first checkpoint drops files of `s`, and the second one removes them. */
async function retain(folder: Folder, end: number): Promise<void> {
  await appendMore(folder, end)
  await withStreams(folder.dir, async (streams) => {
    await streams.checkpoint()
    await streams.checkpoint()
  })
}

const STREAM_EVENTS = {
  'it was deleted and created again': {
    happen: async (folder, end) => {
      await withStreams(folder.dir, (streams) => streams.stream('s').delete())
      await appendMore(folder, end)
    },
  },
  'it was restored': {
    happen: async (folder, end) => {
      folder.dir = join(scratchDir(), 'restored')
      await folder.destination.restore(folder.dir)
      await appendMore(folder, end)
    },
  },
  'an older copy has its place': {
    happen: async (folder, end) => {
      putBack(folder.dir, false)
      await appendMore(folder, end)
    },
  },
  'an older copy was put over it': {
    happen: async (folder, end) => {
      putBack(folder.dir, true)
      await appendMore(folder, end)
    },
  },
  'a copy has taken over': {
    happen: async (folder, end) => {
      folder.dir = join(scratchDir(), 'successor')
      await folder.destination.takeOver(folder.dir)
      await appendMore(folder, end)
    },
  },
  'the records before it were removed': { create: withRetention, happen: (folder) => retain(folder, 4) },
  'the next records were removed': { create: withRetention, happen: (folder) => retain(folder, 5) },
  'the folder was renamed': {
    happen: async (folder, end) => {
      renameSync(folder.dir, `${folder.dir} renamed`)
      folder.dir += ' renamed'
      await appendMore(folder, end)
    },
  },
  'the fork was deleted and made again': {
    create: makeFork,
    happen: async (folder, end) => {
      await withStreams(folder.dir, async (streams) => {
        await streams.stream('s').delete()
        await makeFork(streams)
      })
      await appendMore(folder, end)
    },
  },
} satisfies Record<string, StreamEvent>

type StreamPlace = (folder: Folder) => Promise<() => Promise<readonly string[]>>

function withFetch<T>(
  { dir }: Folder,
  use: (get: (target: string, headers?: Record<string, string>) => Promise<Response>) => Promise<T>,
): Promise<T> {
  return withStreams(dir, async (streams) => {
    const handler = streamsHandler(streams, { longPollMs: 1 })
    try {
      return await use((target, headers = {}) =>
        handler.fetch(new Request(`http://host.example/${target}`, { headers })),
      )
    } finally {
      await handler.close()
    }
  })
}

/** The events of an event stream up to the first control event. */
async function eventsIn(answer: Response): Promise<string> {
  if (answer.status !== 200) await jsonOf(answer)
  let text = ''
  for await (const chunk of answer.body as ReadableStream<Uint8Array>) {
    text += Buffer.from(chunk).toString()
    if (text.includes('event: control')) break
  }
  return text
}

const STREAM_PLACES = {
  'an offset': async (folder) => {
    const offset = await withFetch(folder, async (get) => (await get('s')).headers.get('stream-next-offset'))
    return () => withFetch(folder, async (get) => jsonOf(await get(`s?offset=${offset}`)))
  },
  'an ETag': async (folder) => {
    const etag = await withFetch(folder, async (get) => (await get('s')).headers.get('etag') as string)
    return () => withFetch(folder, async (get) => jsonOf(await get('s', { 'if-none-match': etag })))
  },
  'the id of an event': async (folder) => {
    const text = await withFetch(folder, async (get) => eventsIn(await get('s?offset=-1&live=sse')))
    const id = /^id: ?(.+)$/m.exec(text)?.[1] as string
    return () =>
      withFetch(folder, async (get) => {
        const data = await eventsIn(await get('s?offset=-1&live=sse', { 'last-event-id': id }))
        return [...data.matchAll(/"([ab][0-9])/g)].map(([, value]) => short(value))
      })
  },
  'a Stream-Cursor': async (folder) => {
    const cursorOf = async (given: string): Promise<number> =>
      withFetch(folder, async (get) =>
        Number((await get(`s?offset=-1&live=long-poll&cursor=${given}`)).headers.get('stream-cursor')),
      )
    const cursor = await cursorOf('')
    return async () => [(await cursorOf(String(cursor))) > cursor ? 'greater' : 'not greater']
  },
  'the last name of a page': async (folder) => {
    const page = (query: string): Promise<{ name: string }[]> =>
      withFetch(folder, async (get) => (await (await get(`__ds/streams?${query}`)).json()).streams)
    const name = (await page('prefix=s&limit=1')).at(-1)?.name
    return async () => (await page(`after=${name}`)).map((stream) => stream.name)
  },
  'a position of readAll': async (folder) => {
    const { logPosition } = await withStreams(folder.dir, async (streams) => {
      const found = await all(streams.readAll())
      return found.filter(({ stream }) => stream === 's').at(-1) as (typeof found)[0]
    })
    return () =>
      withStreams(folder.dir, async (streams) =>
        (await all(streams.readAll({ from: JSON.parse(JSON.stringify(logPosition)) }))).map(({ value }) =>
          short(value),
        ),
      )
  },
  'a cursor of all streams': async (folder) => {
    const rest = (streams: Streams<unknown>, commits: boolean): Promise<string[]> =>
      streams.cursor('c').then(async (cursor) => {
        const found = await all(cursor.read())
        if (commits) await cursor.commit(found.at(-1)?.position as number, { durability: 'sync' })
        return found.map(({ value }) => short(value))
      })
    await withStreams(folder.dir, (streams) => rest(streams, true))
    // A restore brings the positions of cursors back.
    await copyMainLog(folder)
    return () => withStreams(folder.dir, (streams) => rest(streams, false))
  },
} satisfies Record<string, StreamPlace>

async function folderOf(destination: Destination, create?: StreamEvent['create']): Promise<Folder> {
  const dir = join(scratchDir(), 'streams')
  const folder = { dir, destination, text: create === withRetention ? long : (value: string) => value }
  await withStreams(dir, async (streams) => {
    await streams.stream('t').append('t0')
    await create?.(streams)
    const stream = streams.stream('s')
    const { nextSeq = 0 } = (await stream.info()) ?? {}
    for (const value of FIRST.slice(nextSeq, COPIED)) await stream.append(folder.text(value))
  })
  cpSync(dir, `${dir} older`, { recursive: true })
  await withStreams(dir, async (streams) => {
    for (const value of FIRST.slice(COPIED)) await streams.stream('s').append(folder.text(value))
    await copyMainLog(folder)
  })
  return folder
}

async function copyMainLog({ dir, destination }: Pick<Folder, 'dir' | 'destination'>): Promise<void> {
  await using log = await open(join(dir, 'log'), { readOnly: true })
  await destination.copy(log)
}

async function resumedStream(place: keyof typeof STREAM_PLACES, event: keyof typeof STREAM_EVENTS): Promise<string> {
  const { create, happen } = STREAM_EVENTS[event] as StreamEvent
  const folder = await folderOf(await toArchive(), create)
  const resume = await STREAM_PLACES[place](folder)
  await happen(folder, place.includes('ETag') ? FIRST.length : FIRST.length + 2)
  return answerOf(resume())
}

const STREAM_TABLE: Record<keyof typeof STREAM_PLACES, Record<keyof typeof STREAM_EVENTS, string>> = {
  'an offset': {
    'it was deleted and created again': '410',
    'it was restored': '410',
    'an older copy has its place': 'b3 b4',
    'an older copy was put over it': '410',
    'a copy has taken over': '410',
    'the records before it were removed': 'b3',
    'the next records were removed': '410',
    'the folder was renamed': 'b3 b4',
    'the fork was deleted and made again': '410',
  },
  'an ETag': {
    'it was deleted and created again': 'b0 b1 b2',
    'it was restored': 'a0 a1 a2',
    'an older copy has its place': 'a0 a1 b2',
    'an older copy was put over it': 'a0 a1 b2',
    'a copy has taken over': 'a0 a1 a2',
    'the records before it were removed': 'b3',
    'the next records were removed': 'b4',
    'the folder was renamed': '304',
    'the fork was deleted and made again': 'a0 a1 b2',
  },
  'the id of an event': {
    'it was deleted and created again': '410',
    'it was restored': '410',
    'an older copy has its place': 'b3 b4',
    'an older copy was put over it': '410',
    'a copy has taken over': '410',
    'the records before it were removed': 'b3',
    'the next records were removed': '410',
    'the folder was renamed': 'b3 b4',
    'the fork was deleted and made again': '410',
  },
  'a Stream-Cursor': {
    'it was deleted and created again': 'greater',
    'it was restored': 'greater',
    'an older copy has its place': 'greater',
    'an older copy was put over it': 'greater',
    'a copy has taken over': 'greater',
    'the records before it were removed': 'greater',
    'the next records were removed': 'greater',
    'the folder was renamed': 'greater',
    'the fork was deleted and made again': 'greater',
  },
  'the last name of a page': {
    'it was deleted and created again': 't',
    'it was restored': 't',
    'an older copy has its place': 't',
    'an older copy was put over it': 't',
    'a copy has taken over': 't',
    'the records before it were removed': 't',
    'the next records were removed': 't',
    'the folder was renamed': 't',
    'the fork was deleted and made again': 't',
  },
  'a position of readAll': {
    'it was deleted and created again': 'b0 b1 b2 b3 b4',
    'it was restored': 'ERR_DURLOG_CURSOR_CUT',
    'an older copy has its place': 'ERR_DURLOG_CURSOR_CUT',
    'an older copy was put over it': 'ERR_DURLOG_CURSOR_CUT',
    'a copy has taken over': 'ERR_DURLOG_CURSOR_CUT',
    'the records before it were removed': 'b3',
    'the next records were removed': 'b3 b4',
    'the folder was renamed': 'b3 b4',
    'the fork was deleted and made again': 'b2 b3 b4',
  },
  'a cursor of all streams': {
    'it was deleted and created again': 'b0 b1 b2 b3 b4',
    'it was restored': 'b3 b4',
    'an older copy has its place': 't0 a0 a1 b2 b3 b4',
    'an older copy was put over it': 'ERR_DURLOG_CURSOR_CUT',
    'a copy has taken over': 'b3 b4',
    'the records before it were removed': 'b3',
    'the next records were removed': 'b3 b4',
    'the folder was renamed': 'b3 b4',
    'the fork was deleted and made again': 'b2 b3 b4',
  },
}

describe('of a stream,', () => {
  for (const [place, row] of Object.entries(STREAM_TABLE))
    for (const [event, expected] of Object.entries(row))
      test(`${place}, after ${event}: ${expected}`, async () => {
        expect(await resumedStream(place as keyof typeof STREAM_PLACES, event as keyof typeof STREAM_EVENTS)).toBe(
          expected,
        )
      })
})
