/** Servers and streams with which shipping can never succeed: the shipper stops at once, with the remedy. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DiscardPolicy, type StreamConfig } from '@nats-io/jetstream'
import { describe, expect, test } from 'vitest'
import type { DurlogError, Log } from '../src/index.js'
import { type NatsAccess, restore } from '../src/jetstream/index.js'
import { missingServer, type NatsServer } from './fixtures/nats.mjs'
import { Authority, missingOpenssl, Operator } from './fixtures/nats-identities.mjs'
import { codeOf, scratchDir, scratchLog } from './fixtures/scratch.js'
import { admin, makeStream, STREAM, SUBJECT, server, shipper, stored, textsOf } from './fixtures/ship.js'
import { proxyTo, speechlessServer } from './fixtures/tcp-peers.js'

for (const reason of [missingServer, missingOpenssl]) if (reason !== '') process.stdout.write(`skipped: ${reason}\n`)

const REFUSED = 'ERR_DURLOG_DESTINATION_REFUSED'
const secureUrl = ({ port }: NatsServer): string => `tls://localhost:${port}`

async function logOf(count: number): Promise<Log> {
  const log = await scratchLog()
  for (let i = 0; i < count; i++) await log.append(`record ${i}`)
  return log
}

/** The error that stops a shipper of three records. */
async function stopError(to: NatsServer, access: NatsAccess = {}): Promise<DurlogError> {
  const shipping = shipper(await logOf(3), to, access)
  const [error] = await once(shipping, 'error')
  return error
}

async function restoreCode(to: NatsServer, access: NatsAccess): Promise<string> {
  return codeOf(
    restore(join(scratchDir(), 'back'), {
      servers: to.url,
      stream: STREAM,
      subject: SUBJECT,
      retryForMs: 30_000,
      ...access,
    }),
  )
}

describe.skipIf(missingServer !== '' || missingOpenssl !== '')(
  'TLS that cannot succeed stops a shipper and a restore:',
  () => {
    function tlsServer(authority: Authority, more = '', years = {}): Promise<NatsServer> {
      const { certFile, keyFile } = authority.certify('server', years)
      return server(
        `tls { cert_file: "${certFile}", key_file: "${keyFile}", ca_file: "${authority.file}", timeout: 30 ${more} }`,
      )
    }

    test.each([
      ['expired', { from: 2001, to: 2002 }],
      ['is not valid yet', { from: 2050, to: 2059 }],
    ])("the server's certificate %s", async (_why, years) => {
      const authority = new Authority(scratchDir())
      const to = await tlsServer(authority, '', years)
      const access = { servers: secureUrl(to), tls: { caFile: authority.file } }
      expect(await stopError(to, access)).toMatchObject({ code: REFUSED, message: expect.stringContaining('validity') })
      expect(await restoreCode(to, access)).toBe(REFUSED)
    })

    test("the client's certificate has another authority, belongs to another key, is missing, or is invalid", async () => {
      const authority = new Authority(scratchDir())
      const to = await tlsServer(authority, ', verify: true')
      const caFile = authority.file
      const [one, two] = [authority.certify('one'), authority.certify('two')]
      const noCertificate = join(scratchDir(), 'none.pem')
      writeFileSync(noCertificate, 'no certificate')
      const wrong = [
        { caFile, ...new Authority(scratchDir()).certify('stranger') },
        { caFile, certFile: one.certFile, keyFile: two.keyFile },
        { caFile },
        { caFile, certFile: noCertificate, keyFile: one.keyFile },
        { caFile, certFile: one.certFile, keyFile: noCertificate },
      ]
      for (const tls of wrong) {
        const access = { servers: secureUrl(to), tls }
        expect((await stopError(to, access)).code).toBe(REFUSED)
        expect(await restoreCode(to, access)).toBe(REFUSED)
      }
    })

    test.each<[string, (to: NatsServer) => NatsAccess]>([
      ['tls: true', ({ url }) => ({ servers: url, tls: true })],
      ['tls://', (to) => ({ servers: secureUrl(to) })],
    ])('the server has none, and %s demands it', async (_how, access) => {
      const to = await server()
      const error = await stopError(to, access(to))
      expect(error).toMatchObject({ code: REFUSED, message: expect.stringContaining('offers no TLS') })
      expect(await restoreCode(to, access(to))).toBe(REFUSED)
    })

    test('the server begins with TLS, and the client is not configured for that', async () => {
      const authority = new Authority(scratchDir())
      const to = await tlsServer(authority, ', handshake_first: true')
      const tls = { caFile: authority.file }
      const error = await stopError(to, { servers: secureUrl(to), tls })
      expect(error).toMatchObject({ code: REFUSED, message: expect.stringContaining('handshakeFirst') })
      expect(await restoreCode(to, { servers: to.url })).toBe(REFUSED)
      const log = await logOf(3)
      await shipper(log, to, { servers: secureUrl(to), tls: { ...tls, handshakeFirst: true } }).idle()
    })
  },
)

test.each(['INFO null', 'INFO 7', 'INFO {', 'HTTP/1.1 400 Bad Request'])(
  'a server that is not one of NATS stops a shipper: %s',
  async (greeting) => {
    const { url } = await speechlessServer(`${greeting}\r\n`)
    const error = await stopError({ url } as NatsServer)
    expect(error).toMatchObject({ code: REFUSED, message: expect.stringContaining('is not a NATS server') })
  },
)

test('a server that begins with tls:// gets neither a password nor a record without TLS', async () => {
  const plain = await speechlessServer(
    'INFO {"server_id":"x","version":"2.12.0","max_payload":1048576,"headers":true}\r\n',
  )
  const servers = plain.url.replace('nats:', 'tls:')
  const error = await stopError({ url: servers } as NatsServer, { servers, user: 'ada', pass: 'secret' })
  expect(error.code).toBe(REFUSED)
  expect(plain.received()).toBe('')
})

describe.skipIf(missingServer !== '')('a stream that can never hold the records stops a shipper:', () => {
  test.each<[string, Partial<StreamConfig> & Record<string, unknown>, string]>([
    ['it acknowledges nothing', { no_ack: true, allow_atomic: false }, 'no_ack'],
    [
      'it stores them under other subjects',
      { subject_transform: { src: 'orders.>', dest: 'moved.>' } },
      'subject_transform',
    ],
    ['it counts', { allow_msg_counter: true, allow_atomic: false }, 'allow_msg_counter'],
    ['it counts, in batches', { allow_msg_counter: true, allow_direct: true }, 'allow_msg_counter'],
    ['it acknowledges before it writes', { persist_mode: 'async', allow_atomic: false }, 'persist_mode'],
    ['it holds no message without a consumer', { retention: 'interest' }, 'retention: interest'],
    ['consumers remove its messages', { retention: 'workqueue' }, 'retention: workqueue'],
    ['it keeps the last messages of a subject', { max_msgs_per_subject: 1 }, 'max_msgs_per_subject'],
    ['its messages are shorter than their headers', { max_msg_size: 512 }, 'at most 512 bytes'],
  ])('%s', async (_what, config, reason) => {
    const to = await server()
    await makeStream(await admin(to), config as Partial<StreamConfig>)
    expect(await stopError(to)).toMatchObject({ code: REFUSED, message: expect.stringContaining(reason) })
  })

  test.each<[string, Partial<StreamConfig> & Record<string, unknown>, string]>([
    ['it drops old messages over a number', { max_msgs: 10, discard: 'old' }, 'discard'],
    ['it drops old messages over a size', { max_bytes: 100_000, discard: 'old' }, 'discard'],
    ['it is in memory', { storage: 'memory' }, 'storage'],
  ])('keepAfterAck, and %s', async (_what, config, reason) => {
    const to = await server()
    await makeStream(await admin(to), config as Partial<StreamConfig>)
    const log = await logOf(3)
    await shipper(log, to).idle()
    const trimming = shipper(log, to, { cursor: 'second', keepAfterAck: { maxBytes: 0 } })
    const [error] = await once(trimming, 'error')
    expect(error).toMatchObject({ code: REFUSED, message: expect.stringContaining(reason) })
    expect(log.firstSeq).toBe(0)
  })

  test('keepAfterAck, once its limits are changed so that it drops old messages, before the log trims', async () => {
    const to = await server()
    const look = await admin(to)
    await makeStream(look)
    const log = await scratchLog({ segmentBytes: 64 * 1024 })
    const append = (): Promise<unknown> => log.appendBatch(Array(50).fill(Buffer.alloc(1000, 'x')))
    const trimming = shipper(log, to, { keepAfterAck: { maxBytes: 0 } })
    await append()
    await trimming.idle()
    await look.manager.streams.update(STREAM, { max_msgs: 10, discard: DiscardPolicy.Old })
    const failed = once(trimming, 'error')
    let isFailed = false
    void failed.then(() => {
      isFailed = true
    })
    // A trim is due once in a second.
    while (!isFailed) await append()
    expect((await failed)[0]).toMatchObject({ code: REFUSED, message: expect.stringContaining('discard') })
    expect(log.firstSeq).toBe(0)
  })

  test.each<[string, Partial<StreamConfig> & Record<string, unknown>]>([
    ['it refuses messages over its limits', { max_msgs: 1000, max_bytes: 10_000_000, discard: 'new' }],
    [
      'it refuses messages of a full subject',
      { max_msgs_per_subject: 9, discard: 'new', discard_new_per_subject: true },
    ],
    ['its messages expire', { max_age: 3600e9 }],
  ])('but not with keepAfterAck if %s', async (_what, config) => {
    const to = await server()
    await makeStream(await admin(to), config as Partial<StreamConfig>)
    const log = await logOf(3)
    await shipper(log, to, { keepAfterAck: { maxBytes: 0 } }).idle()
  })

  test('docs/SHIPPING.md says of every option of a stream whether it is supported', async () => {
    const look = await admin(await server())
    await makeStream(look, { mirror_direct: false, first_seq: 5 } as Partial<StreamConfig>)
    const { config } = await look.manager.streams.info(STREAM)
    const document = readFileSync(new URL('../docs/SHIPPING.md', import.meta.url), 'utf8')
    const [, table = ''] = document.split('## Options of the stream')
    for (const name of Object.keys(config)) expect(table).toContain(`\`${name}\``)
  })

  test('it is sealed while records are shipped', async () => {
    const to = await server()
    const look = await admin(to)
    await makeStream(look)
    const log = await logOf(3)
    const shipping = shipper(log, to)
    await shipping.idle()
    const { config } = await look.manager.streams.info(STREAM)
    await look.manager.streams.update(STREAM, { ...config, sealed: true } as never)
    const stopped = once(shipping, 'error')
    await log.append('after the seal')
    const [error] = await stopped
    expect(error).toMatchObject({ code: REFUSED, message: expect.stringContaining('sealed') })
  })

  test('it is missing, and no record was shipped yet', async () => {
    const error = await stopError(await server(), { create: false } as NatsAccess)
    expect(error.code).toBe('ERR_DURLOG_DESTINATION_MISSING')
    expect(error.message).not.toMatch(/shipped to it|to ship again/i)
  })
})

describe.skipIf(missingServer !== '')('credentials', () => {
  test('that were renewed in their file are used after the old ones have expired', async () => {
    const operator = new Operator()
    const to = await server(operator.configuration)
    const credentialsFile = operator.writeCredentials(join(scratchDir(), 'ship.creds'), 6)
    const log = await logOf(3)
    const proxy = await proxyTo(to.port)
    const shipping = shipper(log, to, { servers: proxy.url, credentialsFile })
    await shipping.idle()
    operator.writeCredentials(credentialsFile)
    // The server ends the connection when the credentials expire.
    await expect.poll(() => proxy.open()).toBe(0)
    await log.append('record 3')
    await shipping.idle()
    expect(shipping.stats().reconnects).toBe(1)
  })

  test('that have expired, and were not renewed, stop a shipper', async () => {
    const operator = new Operator()
    const to = await server(operator.configuration)
    const credentialsFile = operator.writeCredentials(join(scratchDir(), 'ship.creds'), -10)
    expect((await stopError(to, { credentialsFile })).code).toBe(REFUSED)
  })

  test.each(['nats://ada:secret@localhost', 'http://localhost:4222', 'nats://'])(
    'or an address that is none is refused in servers: %s',
    async (servers) => {
      const { ship } = await import('../src/jetstream/index.js')
      const log = await scratchLog()
      const code = await codeOf(() => ship(log, { stream: STREAM, servers }))
      expect(code).toBe('ERR_DURLOG_INVALID_ARGUMENT')
      expect(await codeOf(() => ship(log, { stream: STREAM, servers }).close())).not.toContain('secret')
    },
  )
})

describe.skipIf(missingServer !== '')('a subject whose last message is a deletion marker of the server', () => {
  /** Three records that have expired, so that the stream holds only the marker. */
  async function expired() {
    const to = await server()
    const look = await admin(to)
    const config = { max_age: 1e9, allow_msg_ttl: true, subject_delete_marker_ttl: 3600e9, allow_rollup_hdrs: true }
    await makeStream(look, config as Partial<StreamConfig>)
    const log = await logOf(3)
    await using shipping = shipper(log, to)
    await shipping.idle()
    const isMarker = async (): Promise<boolean> =>
      (await stored(look)).at(-1)?.headers['Nats-Marker-Reason'] === 'MaxAge'
    await expect.poll(isMarker).toBe(true)
    const { config: made } = await look.manager.streams.info(STREAM)
    await look.manager.streams.update(STREAM, { ...made, max_age: 3600e9 })
    return { to, look, log }
  }

  test('gets the next records, and is restored from them', async () => {
    const { to, look, log } = await expired()
    await log.append('record 3')
    await shipper(log, to).idle()
    const texts = textsOf((await stored(look)).filter(({ headers }) => headers['Durlog-Seq'] !== undefined))
    expect(texts).toEqual(['record 3'])
    const place = { servers: to.url, stream: STREAM, subject: SUBJECT }
    expect(await restore(join(scratchDir(), 'back'), place)).toMatchObject({ firstSeq: 3, nextSeq: 4 })
  })

  test('holds no record to restore', async () => {
    const { to } = await expired()
    expect(await restoreCode(to, {})).toBe('ERR_DURLOG_NOT_FOUND')
  })
})
