/** Authentication of the command line with a real server. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { open } from '../../src/index.js'
import { type NatsAccess, restore, ship } from '../../src/jetstream/index.js'
import { durlog } from '../fixtures/command.js'
import { missingServer, type NatsServer } from '../fixtures/nats.mjs'
import { Authority, missingOpenssl, Operator } from '../fixtures/nats-identities.mjs'
import { openUntilDone, scratchDir, texts } from '../fixtures/scratch.js'
import { STREAM, SUBJECT, server } from '../fixtures/ship.js'

for (const reason of [missingServer, missingOpenssl]) if (reason !== '') process.stdout.write(`skipped: ${reason}\n`)

const WHERE = ['--stream', STREAM, '--subject', SUBJECT]
const REFUSED = 77
const TEXTS = ['one', 'two', 'three']

interface Way {
  flags: string[]
  env?: Record<string, string>
}

const urlOf = ({ port }: NatsServer): string => `nats://localhost:${port}`

/** The exit status of `durlog`; only `env` names a server or a user in its environment. */
async function statusOf(args: readonly string[], { flags, env = {} }: Way): Promise<number | null> {
  for (const name of Object.keys(process.env)) if (name.startsWith('NATS_')) vi.stubEnv(name, undefined)
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const { code } = await durlog([...args, ...WHERE, ...flags])
  vi.unstubAllEnvs()
  return code
}

const shipOnce = (dir: string, to: NatsServer, way: Way): Promise<number | null> =>
  statusOf(['ship', dir, urlOf(to), '--once'], way)

async function threeRecords(): Promise<string> {
  const dir = join(scratchDir(), 'log')
  const log = await open(dir)
  await log.appendBatch(TEXTS)
  await log.close()
  return dir
}

/** Ships with `one` and restores with `other`; both must be accepted. */
async function expectLetIn(to: NatsServer, one: Way, other: Way): Promise<void> {
  expect(await shipOnce(await threeRecords(), to, one)).toBe(0)
  const back = join(scratchDir(), 'back')
  expect(await statusOf(['restore', back, urlOf(to)], other)).toBe(0)
  const log = await openUntilDone(back, { readOnly: true })
  expect(await texts(log.read())).toEqual(TEXTS)
}

/** Ships and restores in turn: both commands make their options in one place. */
async function expectRefused(to: NatsServer, ways: readonly Way[]): Promise<void> {
  const dir = await threeRecords()
  for (const [i, way] of ways.entries()) {
    const restore = ['restore', join(scratchDir(), 'back'), urlOf(to)]
    const status = await (i % 2 === 0 ? shipOnce(dir, to, way) : statusOf(restore, way))
    expect(status, JSON.stringify(way)).toBe(REFUSED)
  }
}

describe.skipIf(missingServer !== '')('a server lets in', () => {
  test('a user with a password from the environment, and refuses any other', async () => {
    const to = await server('authorization { user: ada, password: secret }')
    const env = { NATS_PASSWORD: 'secret' }
    await expectLetIn(to, { flags: ['--user', 'ada'], env }, { flags: [], env: { NATS_USER: 'ada', ...env } })
    await expectRefused(to, [
      { flags: [] },
      { flags: ['--user', 'ada'] },
      { flags: ['--user', 'ada'], env: { NATS_PASSWORD: 'wrong' } },
      { flags: ['--user', 'bob'], env },
    ])
  })

  test('a token from the environment, and refuses any other', async () => {
    const to = await server('authorization { token: "a token" }')
    const way = { flags: [], env: { NATS_TOKEN: 'a token' } }
    await expectLetIn(to, way, way)
    await expectRefused(to, [{ flags: [] }, { flags: [], env: { NATS_TOKEN: 'another' } }])
  })

  test('credentials from a file, and refuses those of another operator and a file without credentials', async () => {
    const operator = new Operator()
    const dir = scratchDir()
    const to = await server(operator.configuration)
    const creds = operator.writeCredentials(join(dir, 'good.creds'))
    await expectLetIn(to, { flags: ['--creds', creds] }, { flags: [], env: { NATS_CREDS: creds } })
    const foreign = new Operator().writeCredentials(join(dir, 'foreign.creds'))
    writeFileSync(join(dir, 'none.creds'), 'nothing of the kind')
    await expectRefused(to, [
      { flags: [] },
      { flags: ['--creds', foreign] },
      { flags: ['--creds', join(dir, 'none.creds')] },
      { flags: ['--creds', join(dir, 'missing.creds')] },
    ])
  })
})

describe.skipIf(missingServer !== '' || missingOpenssl !== '')('a server with TLS lets in', () => {
  function tlsServer(authority: Authority, more = ''): Promise<NatsServer> {
    const { certFile, keyFile } = authority.certify('server')
    const files = `cert_file: "${certFile}", key_file: "${keyFile}", ca_file: "${authority.file}"`
    return server(`tls { ${files}, timeout: 30 ${more} }\nauthorization { user: ada, password: secret }`)
  }
  const env = { NATS_USER: 'ada', NATS_PASSWORD: 'secret' }

  test('a client that trusts its authority and has the password', async () => {
    const authority = new Authority(scratchDir())
    const to = await tlsServer(authority)
    const trusting = { flags: ['--tls-ca', authority.file], env }
    await expectLetIn(to, trusting, { flags: [], env: { ...env, NATS_CA: authority.file } })
    const stranger = new Authority(scratchDir())
    await expectRefused(to, [
      { flags: ['--tls-ca', authority.file], env: { ...env, NATS_PASSWORD: 'wrong' } },
      // Here the client refuses, because it does not know the server.
      { flags: ['--tls'], env },
      { flags: ['--tls-ca', stranger.file], env },
      { flags: ['--tls-ca', join(scratchDir(), 'missing.pem')], env },
    ])
  })

  test('a client with a certificate, if it requires one', async () => {
    const authority = new Authority(scratchDir())
    const to = await tlsServer(authority, ', verify: true')
    const { certFile, keyFile } = authority.certify('client')
    const byFlag = ['--tls-ca', authority.file, '--tls-cert', certFile, '--tls-key', keyFile]
    const byEnvironment = { NATS_CA: authority.file, NATS_CERT: certFile, NATS_KEY: keyFile }
    await expectLetIn(to, { flags: byFlag, env }, { flags: [], env: { ...env, ...byEnvironment } })
    await expectRefused(to, [{ flags: ['--tls-ca', authority.file], env }])
  })

  test('the same clients if they use the options of ship and restore', async () => {
    const authority = new Authority(scratchDir())
    const to = await tlsServer(authority)
    const log = await open(await threeRecords(), { readOnly: true })
    const access: NatsAccess = { servers: urlOf(to), user: 'ada', pass: 'secret', tls: { caFile: authority.file } }
    const place = { stream: STREAM, subject: SUBJECT }
    const shipper = ship(log, { ...access, ...place })
    await shipper.idle()
    await shipper.close()
    expect(await restore(join(scratchDir(), 'back'), { ...access, ...place })).toMatchObject({ nextSeq: 3 })
    const denied = restore(join(scratchDir(), 'back'), { ...access, ...place, tls: true })
    await expect(denied).rejects.toMatchObject({ code: 'ERR_DURLOG_DESTINATION_REFUSED' })
    await log.close()
  })
})
