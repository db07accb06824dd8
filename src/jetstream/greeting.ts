/**
 * Finds a server that responds, before the client connects to it. The kernel accepts connections for a stopped server,
 * which then sends nothing, and the NATS client never closes such a connection. The sockets that this module opens are
 * always closed.
 */
import { lookup } from 'node:dns/promises'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions as TlsConnectionOptions } from 'node:tls'
import { DurlogError } from '../errors.js'
import { clearTimeout, setTimeout } from '../timers.js'
import { firstSuccess } from './race.js'
import { fromClientError, refused } from './refusals.js'
import type { ServerAddress } from './servers.js'

/** The time after which the next server is tried too if a server sends nothing. */
const NEXT_SERVER_MS = 500
/** The time after which a server that sends nothing is tested for TLS before the greeting. */
const TEST_TLS_MS = 1000
/** More than any server's greeting has. */
const MAX_GREETING_BYTES = 2 ** 20

export interface Greeting {
  /** An IP address. */
  host: string
  port: number
  /** The name that the server's certificate must have; undefined if only the IP address is known. */
  tlsName: string | undefined
  offersTls: boolean
}

export interface GreetingOptions {
  timeoutMs: number
  /** The options for servers that begin with TLS, before the greeting; undefined for other servers. */
  handshakeFirst: TlsConnectionOptions | undefined
  signal: AbortSignal
}

/**
 * Finds the first of `servers`, tried in this order, that sends a greeting. Rejects with a DurlogError if a refusal is
 * final.
 */
export async function findServer(servers: readonly ServerAddress[], options: GreetingOptions): Promise<Greeting> {
  const tries = servers.map((server) => (signal: AbortSignal) => greetByName(server, { ...options, signal }))
  try {
    return await firstSuccess(tries, NEXT_SERVER_MS, options.signal)
  } catch (errors) {
    throw firstRefusal(errors as Error[])
  }
}

function firstRefusal(errors: readonly Error[]): Error {
  const refusal = errors
    .map((error) => fromClientError(error, 'connecting'))
    .find((error) => error instanceof DurlogError)
  return refusal ?? new Error([...new Set(errors.map(({ message }) => message))].join('; '), { cause: errors[0] })
}

/** Tries every address of the host name, because several servers may share a name. */
async function greetByName({ host, port }: ServerAddress, options: GreetingOptions): Promise<Greeting> {
  if (isIP(host) !== 0) return greet({ host, port }, undefined, options)
  const found = await lookup(host, { all: true })
  const tries = found.map(({ address }) => (signal: AbortSignal) => {
    return greet({ host: address, port }, host, { ...options, signal })
  })
  return firstSuccess(tries, NEXT_SERVER_MS, options.signal).catch((errors: unknown[]) => {
    throw errors[0]
  })
}

async function greet(
  address: ServerAddress,
  tlsName: string | undefined,
  { timeoutMs, handshakeFirst, signal }: GreetingOptions,
): Promise<Greeting> {
  const tls = tlsName === undefined ? handshakeFirst : { ...handshakeFirst, servername: tlsName }
  const listening = new AbortController()
  const end = (): void => listening.abort(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  const timer = setTimeout(() => {
    listening.abort(new Error(`${nameOf(address)} accepted the connection but sent nothing within ${timeoutMs} ms`))
  }, timeoutMs)
  try {
    if (signal.aborted) throw signal.reason
    const open = (): Socket => (handshakeFirst === undefined ? connectTcp(address) : connectTls({ ...address, ...tls }))
    const greetings = [readGreeting(open(), address, listening.signal)]
    if (handshakeFirst === undefined) greetings.push(expectNoTls(address, listening.signal))
    const { tls_required, tls_available } = await Promise.race(greetings)
    return { ...address, tlsName, offersTls: tls_required === true || tls_available === true }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
    listening.abort()
  }
}

interface ServerInfo {
  tls_required?: boolean
  tls_available?: boolean
}

/** Reads the greeting, `INFO {…}`, and closes the connection. */
function readGreeting(socket: Socket, address: ServerAddress, signal: AbortSignal): Promise<ServerInfo> {
  return new Promise<ServerInfo>((resolve, reject) => {
    let text = ''
    const fail = (reason: unknown): void => reject(reason)
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      text += chunk
      const end = text.indexOf('\r\n')
      if (end === -1 && text.length < MAX_GREETING_BYTES) return
      const [, json] = /^INFO\s+(.*)$/i.exec(text.slice(0, end)) ?? []
      try {
        const info: unknown = JSON.parse(json ?? '')
        if (Object(info) !== info) throw new TypeError('not an object')
        resolve(info as ServerInfo)
      } catch {
        fail(refused(`${nameOf(address)} is not a NATS server: it did not send INFO first; correct the address`))
      }
    })
    socket.on('error', fail)
    socket.on('close', () => fail(new Error(`${nameOf(address)} closed the connection`)))
    signal.addEventListener('abort', () => fail(signal.reason), { once: true })
  }).finally(() => socket.destroy())
}

/** Rejects if the server sends nothing and expects TLS first. Never resolves. */
function expectNoTls(address: ServerAddress, signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const timer = setTimeout(() => {
      const socket = connectTls({ ...address, rejectUnauthorized: false })
      socket.on('secureConnect', () => {
        reject(refused(`${nameOf(address)} expects TLS before its greeting: set tls.handshakeFirst (--tls-first)`))
      })
      socket.on('error', () => {})
      signal.addEventListener('abort', () => socket.destroy(), { once: true })
    }, TEST_TLS_MS)
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
  })
}

function nameOf({ host, port }: ServerAddress): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}
