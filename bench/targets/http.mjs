// Targets of `durlog serve`: events to many subscribers, idle subscribers, and catch-up reads. The clients run in this
// process.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileServer, httpServers, RunningServer } from '../dist/harness/http-servers.js'
import { withScratch } from '../dist/harness/scratch.js'
import { median } from '../dist/harness/stats.js'

const SUBSCRIBERS = 1000
/**
 * Every MEASURING-th subscriber measures delays. The others only read, so that the clients take little processor time.
 */
const MEASURING = 20
const APPENDS = 1000
const PAUSE_MS = 5
const IDLE_SUBSCRIBERS = 10_000
const CONNECTING = 100
const SETTLING_MS = 1000
const RECORD_BYTES = 1 << 16
const STREAM_BYTES = 1 << 28
const READ_BYTES = 1 << 28
const READ_ROUNDS = 5
const POSTING = 16
const READERS = 2

async function withServer(dir, measure) {
  return withScratch(dir, async (folder) => {
    const server = await RunningServer.start(
      httpServers.find(({ name }) => name === 'durlog serve'),
      folder,
    )
    const agent = new Agent({ keepAlive: true })
    try {
      return await measure(server, agent)
    } finally {
      agent.destroy()
      await server.stop()
    }
  })
}

/** Sends a request and reads the response. */
async function call(agent, { port }, method, path, { body, type } = {}) {
  const headers = type === undefined ? {} : { 'content-type': type }
  const sent = request({ agent, port, host: '127.0.0.1', method, path, headers })
  const [answer] = await Promise.all([once(sent, 'response').then(([found]) => found), sent.end(body)])
  answer.resume()
  await once(answer, 'end')
  if (answer.statusCode >= 300) throw new Error(`${method} ${path} returned status ${answer.statusCode}`)
}

/** Opens an event stream. Resolves with its socket when the first bytes arrive. */
async function subscribe({ port }, path, onData = () => {}) {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${path}?offset=-1&live=sse HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
  const [first] = await once(socket, 'data')
  if (!first.latin1Slice().startsWith('HTTP/1.1 200')) throw new Error(`GET ${path} returned ${first}`)
  socket.on('data', onData)
  return socket
}

async function subscribeAll(server, path, count, onDataOf = () => undefined) {
  const sockets = []
  while (sockets.length < count) {
    const batch = Array.from({ length: Math.min(CONNECTING, count - sockets.length) }, (_, at) =>
      subscribe(server, path, onDataOf(sockets.length + at)),
    )
    sockets.push(...(await Promise.all(batch)))
  }
  return sockets
}

/** The resident memory of the server's process, in KiB. */
function residentKb({ pid }) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1])
}

async function measureEvents({ dir }) {
  return withServer(dir, async (server, agent) => {
    await call(agent, server, 'PUT', '/s', { type: 'application/json' })
    const beforeKb = residentKb(server)
    const arrived = []
    const onDataOf = (at) =>
      at % MEASURING !== 0
        ? undefined
        : (part) => {
            const nowMs = performance.now()
            for (const [, n] of part.toString('latin1').matchAll(/"n":(\d+)/g)) arrived.push([Number(n), nowMs])
          }
    const sockets = await subscribeAll(server, '/s', SUBSCRIBERS, onDataOf)
    const acknowledged = []
    const posts = []
    for (let n = 0; n < APPENDS; n++) {
      const post = call(agent, server, 'POST', '/s', { type: 'application/json', body: `{"n":${n}}` })
      posts.push(post.then(() => (acknowledged[n] = performance.now())))
      await sleep(PAUSE_MS)
    }
    await Promise.all(posts)
    const expected = APPENDS * (SUBSCRIBERS / MEASURING)
    while (arrived.length < expected) await sleep(PAUSE_MS)
    const kb = (residentKb(server) - beforeKb) / SUBSCRIBERS
    for (const socket of sockets) socket.destroy()
    const delays = arrived.map(([n, atMs]) => atMs - acknowledged[n]).sort((a, b) => a - b)
    return {
      'event-delay-p50': { value: median(delays) },
      'event-delay-p99': { value: delays[Math.floor(0.99 * delays.length)] },
      'subscriber-memory': { value: kb },
    }
  })
}

async function measureIdle({ dir }) {
  return withServer(dir, async (server, agent) => {
    await call(agent, server, 'PUT', '/s', { type: 'application/json' })
    const beforeKb = residentKb(server)
    const sockets = await subscribeAll(server, '/s', IDLE_SUBSCRIBERS)
    await sleep(SETTLING_MS)
    const kb = (residentKb(server) - beforeKb) / IDLE_SUBSCRIBERS
    const open = sockets.filter(({ readyState }) => readyState === 'open').length
    for (const socket of sockets) socket.destroy()
    return { 'idle-subscribers': { value: open }, 'idle-memory': { value: kb } }
  })
}

/**
 * A client that reads a stream again and again. It receives each answer in the same memory and finds only three
 * headers, because a client that takes more time than the server would limit the rate.
 */
class Reader {
  #socket
  #left = 0
  #received = 0
  #head = ''
  #onAnswer

  constructor({ port }) {
    const onread = { buffer: Buffer.alloc(1 << 18), callback: (count, bytes) => this.#receive(count, bytes) }
    this.#socket = connect({ port, host: '127.0.0.1', onread })
  }

  async read(path, bytes) {
    for (let offset = '-1'; this.#received < bytes; ) {
      const answered = new Promise((resolve) => (this.#onAnswer = resolve))
      this.#socket.write(`GET ${path}?offset=${offset} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
      const head = await answered
      offset = /^stream-up-to-date:/im.test(head) ? '-1' : /^stream-next-offset: (\S+)/im.exec(head)[1]
    }
    this.#socket.destroy()
  }

  /** The headers of an answer arrive in one part. */
  #receive(count, bytes) {
    if (this.#left === 0) {
      const text = bytes.latin1Slice(0, Math.min(count, 2048))
      this.#head = text.slice(0, text.indexOf('\r\n\r\n'))
      if (!this.#head.startsWith('HTTP/1.1 200')) throw new Error(`GET returned ${this.#head}`)
      const length = Number(/^content-length: (\d+)/im.exec(this.#head)[1])
      this.#received += length
      this.#left = this.#head.length + 4 + length
    }
    this.#left -= count
    if (this.#left === 0) this.#onAnswer(this.#head)
    return true
  }
}

async function measureCatchUp({ dir }) {
  return withServer(dir, async (server, agent) => {
    const type = 'application/octet-stream'
    await call(agent, server, 'PUT', '/s', { type })
    const body = Buffer.alloc(RECORD_BYTES, 'x')
    let left = STREAM_BYTES / RECORD_BYTES
    const post = async () => {
      while (left-- > 0) await call(agent, server, 'POST', '/s', { type, body })
    }
    await Promise.all(Array.from({ length: POSTING }, post))
    // Waits for the checkpoint that moves the last records to the stream's file.
    await sleep(2 * SETTLING_MS)
    return withScratch(dir, async (folder) => {
      writeFileSync(join(folder, 'file'), Buffer.alloc(STREAM_BYTES, 'x'))
      const baseline = await RunningServer.start(fileServer, folder)
      try {
        return await compareReads(server, baseline)
      } finally {
        await baseline.stop()
      }
    })
  })
}

/** The servers take turns, so that other load affects both equally. The first round warms them up. */
async function compareReads(server, baseline) {
  const rates = new Map([server, baseline].map((one) => [one, []]))
  for (let round = 0; round <= READ_ROUNDS; round++) for (const [one, found] of rates) found.push(await readAll(one))
  const figure = (name) => {
    const [value, base] = [...rates.values()].map((found) => median(found.slice(1).map((rate) => rate[name])))
    return { value, baseline: base }
  }
  return { 'catch-up': figure('wall'), 'catch-up-processor': figure('processor') }
}

/** Returns the rates of a read, in GB for each second, and for each second of the server's processor time. */
async function readAll(server) {
  const readers = Array.from({ length: READERS }, () => new Reader(server))
  const startMs = performance.now()
  const startUs = server.processorUs()
  await Promise.all(readers.map((reader) => reader.read('/s', READ_BYTES / READERS)))
  const wall = READ_BYTES / (performance.now() - startMs) / 1e6
  return { wall, processor: READ_BYTES / (server.processorUs() - startUs) / 1e3 }
}

const onLinux = async () => (process.platform === 'linux' ? undefined : 'it reads /proc')

/** @type {import('../targets.mjs').Group[]} */
export const httpGroups = [
  {
    name: 'http-events',
    figures: [
      { id: 'event-delay-p50', title: `Event to ${SUBSCRIBERS} subscribers, 200 appends/s: p50`, unit: 'ms' },
      { id: 'event-delay-p99', title: `Event to ${SUBSCRIBERS} subscribers, 200 appends/s: p99`, unit: 'ms', max: 50 },
      { id: 'subscriber-memory', title: 'memory of a subscriber', unit: 'kB', max: 50 },
    ],
    unavailable: onLinux,
    run: measureEvents,
  },
  {
    name: 'http-idle',
    slow: true,
    figures: [
      { id: 'idle-subscribers', title: 'idle subscribers', unit: '', min: IDLE_SUBSCRIBERS },
      { id: 'idle-memory', title: 'memory of an idle subscriber', unit: 'kB', max: 50 },
    ],
    unavailable: onLinux,
    run: measureIdle,
  },
  {
    name: 'http-catch-up',
    slow: true,
    figures: [
      {
        id: 'catch-up',
        title: `catch-up read over loopback, ${READERS} connections that only receive`,
        unit: 'GB/s',
        on: 'ratio',
        min: 0.9,
        baseline: fileServer.name,
      },
      {
        id: 'catch-up-processor',
        title: 'catch-up read, for each second of processor time',
        unit: 'GB/s',
        baseline: fileServer.name,
      },
    ],
    unavailable: onLinux,
    run: measureCatchUp,
  },
]
