/** Servers that stop answering, and servers that are missing: shipping and restoring continue on another one. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Log } from '../src/index.js'
import { restore } from '../src/jetstream/index.js'
import { missingServer, type NatsServer, startCluster } from './fixtures/nats.mjs'
import { codeOf, openUntilDone, scratchDir, scratchLog, texts } from './fixtures/scratch.js'
import { admin, makeStream, STREAM, SUBJECT, server, shipper, stored, textsOf } from './fixtures/ship.js'
import { proxyTo, speechlessServer } from './fixtures/tcp-peers.js'

if (missingServer !== '') process.stdout.write(`skipped: ${missingServer}\n`)

const names = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => `record ${from + i}`)

async function appendNames(log: Log, count: number): Promise<void> {
  await Promise.all(names(count, log.nextSeq).map((name) => log.append(name)))
}

describe.skipIf(missingServer !== '')('in a cluster of three', () => {
  const dir = missingServer === '' ? mkdtempSync(join(tmpdir(), 'durlog-test-')) : ''
  let servers: NatsServer[] = []
  /** The server that stores the stream, and the two others. */
  let holder: NatsServer
  let others: [NatsServer, NatsServer]

  beforeAll(async () => {
    servers = await startCluster(dir)
  })
  afterAll(async () => {
    await Promise.all(servers.map((one) => one.kill()))
    rmSync(dir, { recursive: true, force: true })
  })
  beforeEach(async () => {
    for (const one of servers) {
      if (!one.running) await one.start()
      one.thaw()
    }
    const look = await admin(servers[0] as NatsServer)
    // A cluster has no leader at first.
    await expect.poll(() => codeOf(look.manager.streams.list().next())).toBe('none')
    await look.manager.streams.delete(STREAM).catch(() => {})
    await expect.poll(() => codeOf(makeStream(look))).toBe('none')
    const { cluster } = await look.manager.streams.info(STREAM)
    holder = servers.find((one) => one.dir.endsWith(cluster?.leader as string)) as NatsServer
    others = servers.filter((one) => one !== holder) as [NatsServer, NatsServer]
  })

  test('shipping continues on another server while its server is stopped', async () => {
    const [first, second] = others
    const log = await scratchLog()
    await appendNames(log, 10)
    const shipping = shipper(log, first)
    await shipping.idle()
    first.freeze()
    onTestFinished(() => first.thaw())
    await appendNames(log, 10)
    await shipping.idle()
    expect(shipping.stats().reconnects).toBeGreaterThan(0)
    expect(textsOf(await stored(await admin(second)))).toEqual(names(20))
  })

  test('shipping begins at the second server while the first one is stopped', async () => {
    const [first, second] = others
    first.freeze()
    onTestFinished(() => first.thaw())
    const log = await scratchLog()
    await appendNames(log, 10)
    for (let i = 0; i < 4; i++)
      await shipAll(shipper(log, first, { servers: [first.url, second.url], cursor: `cursor-${i}` }))
    expect(textsOf(await stored(await admin(second)))).toEqual(names(10))
  })

  test('shipping continues on a server that only the cluster has named, if the given one is killed', async () => {
    const [first, second] = others
    const log = await scratchLog()
    await appendNames(log, 10)
    const shipping = shipper(log, first)
    await shipping.idle()
    await first.kill()
    await appendNames(log, 10)
    await shipping.idle()
    expect(textsOf(await stored(await admin(second)))).toEqual(names(20))
  })

  test('a restore continues on another server while its server is stopped', async () => {
    const [first] = others
    const log = await scratchLog()
    // More than a restore requests in advance.
    for (let i = 0; i < 3000; i++) log.write(Buffer.alloc(4096, `${i} `))
    await log.sync()
    await shipAll(shipper(log, holder))
    let frozen = false
    const onProgress = (): void => {
      if (!frozen) first.freeze()
      frozen = true
    }
    onTestFinished(() => first.thaw())
    const back = join(scratchDir(), 'restored')
    const report = await restore(back, { servers: first.url, stream: STREAM, subject: SUBJECT, onProgress })
    expect(frozen).toBe(true)
    expect(report).toMatchObject({ nextSeq: 3000, uuid: log.uuid })
  })
})

/** Ships everything and closes the shipper. */
async function shipAll(shipping: ReturnType<typeof shipper>): Promise<void> {
  await shipping.idle().finally(() => shipping.close())
}

describe.skipIf(missingServer !== '')('a server that accepts connections and sends nothing', () => {
  test('holds no socket for longer than one try', async () => {
    const silent = await speechlessServer()
    const log = await scratchLog()
    const shipping = shipper(log, { url: silent.url } as NatsServer, { timeoutMs: 100 })
    for (let tries = 0; tries < 5; tries++) await once(shipping, 'retry')
    expect(silent.accepted()).toBeGreaterThanOrEqual(5)
    await shipping.close()
    await expect.poll(() => silent.open()).toBe(0)
  })

  test('does not hold back shipping or restoring if another server is given', async () => {
    const silent = await speechlessServer()
    const nats = await server()
    await makeStream(await admin(nats))
    const log = await scratchLog()
    await appendNames(log, 3)
    const servers = [silent.url, nats.url]
    // The order is random: each is sometimes the first one.
    for (let i = 0; i < 6; i++) await shipAll(shipper(log, nats, { servers, cursor: `cursor-${i}`, timeoutMs: 30_000 }))
    const dir = join(scratchDir(), 'restored')
    await restore(dir, { servers, stream: STREAM, subject: SUBJECT, timeoutMs: 30_000 })
    expect(await texts((await openUntilDone(dir)).read())).toEqual(names(3))
    await expect.poll(() => silent.open()).toBe(0)
  })

  test('does not delay close', async () => {
    const silent = await speechlessServer()
    const log = await scratchLog()
    const shipping = shipper(log, { url: silent.url } as NatsServer, { timeoutMs: 2 ** 31 - 1 })
    await expect.poll(() => silent.accepted()).toBeGreaterThan(0)
    await shipping.close()
    expect(shipping.stats().state).toBe('stopped')
  })
})

describe.skipIf(missingServer !== '')('a link that breaks twice while idle', () => {
  const PULL = 'CONSUMER.MSG.NEXT'
  const pulls = (text: string): number => text.split(PULL).length

  test('does not end a restore that follows, whatever retryForMs is', async () => {
    const nats = await server()
    await makeStream(await admin(nats))
    const log = await scratchLog()
    await appendNames(log, 3)
    await shipAll(shipper(log, nats))
    const proxy = await proxyTo(nats.port)
    const ending = new AbortController()
    const dir = join(scratchDir(), 'restored')
    const following = restore(dir, {
      servers: proxy.url,
      stream: STREAM,
      subject: SUBJECT,
      follow: true,
      retryForMs: 1,
      signal: ending.signal,
    })
    const outcome = codeOf(following)
    for (let breaks = 0; breaks < 3; breaks++) {
      const before = pulls(proxy.received())
      proxy.cut()
      await Promise.race([
        outcome.then((code) => Promise.reject(new Error(`the restore ended: ${code}`))),
        expect.poll(() => pulls(proxy.received())).toBeGreaterThan(before),
      ])
    }
    ending.abort()
    expect(await outcome).toBe('none')
  })

  test('does not stop a shipper, whatever retryForMs is', async () => {
    const nats = await server()
    const look = await admin(nats)
    await makeStream(look)
    const log = await scratchLog()
    let open = false
    const proxy = await proxyTo(nats.port, () => open)
    const shipping = shipper(log, { url: proxy.url } as NatsServer, { retryForMs: 1 })
    shipping.on('retry', () => {
      open = true
    })
    await once(shipping, 'retry')
    await expect.poll(() => shipping.stats().state).toBe('shipping')
    proxy.cut()
    await expect.poll(() => proxy.open()).toBe(0)
    await appendNames(log, 3)
    await shipping.idle()
    expect(textsOf(await stored(look))).toEqual(names(3))
  })

  test('does not end the process if the shipper is closed at that moment', async () => {
    const nats = await server()
    await makeStream(await admin(nats))
    const log = await scratchLog()
    const proxy = await proxyTo(nats.port)
    const shipping = shipper(log, { url: proxy.url } as NatsServer)
    await appendNames(log, 3)
    await shipping.idle()
    const uncaught: unknown[] = []
    const note = (error: unknown): void => void uncaught.push(error)
    process.on('uncaughtException', note)
    onTestFinished(() => void process.off('uncaughtException', note))
    // The moment between the end and the close of the client's socket lasts until `close` is called.
    const prototype = Socket.prototype as unknown as { _final: (done: () => void) => void }
    const { _final: final } = prototype
    let finish: () => void = () => {}
    const ended = new Promise<void>((resolve) => {
      vi.spyOn(prototype, '_final').mockImplementation(function (this: Socket, done) {
        if (this.localPort === proxy.port) return final.call(this, done)
        finish = () => final.call(this, done)
        resolve()
      })
    })
    onTestFinished(() => void vi.restoreAllMocks())
    proxy.end()
    await ended
    const closing = shipping.close()
    setImmediate(() => finish())
    await closing
    expect(uncaught).toEqual([])
  })
})
