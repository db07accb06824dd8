/**
 * The connection to one of the servers. It does not reconnect by itself: the next `open` connects, preferably to
 * another server.
 */

import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { Authenticator, ConnectionOptions, NatsConnection, Status, TlsOptions } from '@nats-io/transport-node'
import { DurlogError } from '../errors.js'
import { onAbort } from '../options/abort-signal.js'
import { attempts, type PauseOptions } from '../ship/backoff.js'
import { nextTurn } from '../timers.js'
import { findServer, type Greeting } from './greeting.js'
import type { ResolvedPlace } from './options.js'
import { loadPeers } from './peers.js'
import { fromClientError, refused, Unanswered } from './refusals.js'
import { parseClusterAddress, type ServerAddress } from './servers.js'
import type { NatsTls } from './types.js'

export interface LiveLink {
  readonly nc: NatsConnection
  readonly manager: JetStreamManager
}

/** The connection to a server that does not respond to this many pings is closed: 4 to 6 s after the server stopped. */
const PING_INTERVAL_MS = 2000
const MAX_UNANSWERED_PINGS = 2

export class NatsLink {
  readonly #place: ResolvedPlace
  readonly #closing = new AbortController()
  /** The listeners of `onLost`, for the current connection. */
  readonly #listeners = new Set<(error: Error) => void>()
  #live: LiveLink | undefined
  /** The servers that the cluster has reported. */
  #named: readonly ServerAddress[] = []
  /** The server of the last connection. */
  #newest: Greeting | undefined
  #connections = 0

  constructor(place: ResolvedPlace) {
    this.#place = place
  }

  get reconnects(): number {
    return Math.max(0, this.#connections - 1)
  }

  /** Returns the connection; connects if there is none. Throws like the methods of a ShipTarget. */
  async open(): Promise<LiveLink> {
    this.#checkOpen()
    if (this.#live !== undefined) return this.#live
    const live = await this.#makeLive()
    if (this.#closing.signal.aborted) {
      if (this.#isOwn(live.nc)) await closeConnection(live.nc)
      this.#checkOpen()
    }
    this.#live = live
    this.#connections++
    void this.#watch(live)
    return live
  }

  /**
   * Calls `listener` once when the connection is lost or the server reports an error. Returns a function that cancels
   * this.
   */
  onLost(listener: (error: Error) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Closes the connection if `error` shows that its server did not respond, so that the next `open` tries another
   * server.
   */
  async leaveAfter(error: unknown): Promise<void> {
    const nc = this.#live?.nc
    if (error instanceof Unanswered && nc !== undefined && this.#isOwn(nc)) await this.#drop(nc, error)
  }

  async close(): Promise<void> {
    this.#closing.abort(new DurlogError('ERR_DURLOG_CLOSED', 'the shipper has been closed'))
    const nc = this.#live?.nc
    this.#lose(this.#closing.signal.reason)
    if (nc !== undefined && this.#isOwn(nc)) await closeConnection(nc)
  }

  #checkOpen(): void {
    this.#closing.signal.throwIfAborted()
  }

  #isOwn(nc: NatsConnection): boolean {
    return nc !== this.#place.access.connection
  }

  async #makeLive(): Promise<LiveLink> {
    const { jetStream } = await loadPeers()
    const nc = await this.#connect()
    const { domain } = this.#place.access
    const manager = await jetStream.jetstreamManager(nc, {
      checkAPI: false,
      timeout: this.#place.timeoutMs,
      ...(domain !== undefined && { domain }),
    })
    return { nc, manager }
  }

  async #connect(): Promise<NatsConnection> {
    const { connection } = this.#place.access
    if (connection !== undefined) {
      if (connection.isClosed())
        throw refused('the connection in the option "connection" was closed: pass an open connection')
      return connection
    }
    try {
      const nc = await this.#connectToOne()
      this.#noteServers(nc)
      return nc
    } catch (error) {
      throw fromClientError(error, 'connecting')
    }
  }

  async #connectToOne(): Promise<NatsConnection> {
    const { transport } = await loadPeers()
    const { signal } = this.#closing
    const tls = this.#tlsOptions()
    const { timeoutMs } = this.#place
    const server = await findServer(this.#serversInTurn(), {
      timeoutMs,
      handshakeFirst: tls?.handshakeFirst === true ? tls : undefined,
      signal,
    })
    this.#newest = server
    const connecting = transport.connect(this.#connectionOptions(server, tls, transport.credsAuthenticator))
    return untilAborted(connecting, signal)
  }

  /**
   * Returns the known servers in random order, so that many shippers are spread over them. The last used server comes
   * last.
   */
  #serversInTurn(): ServerAddress[] {
    const known = new Map([...this.#place.servers, ...this.#named].map((server) => [keyOf(server), server]))
    const newest = this.#newest === undefined ? undefined : keyOf(this.#newest)
    return [...known]
      .map(([key, server]) => ({ server, rank: key === newest ? 1 : Math.random() }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ server }) => server)
  }

  #noteServers(nc: NatsConnection): void {
    const urls: unknown = nc.info?.connect_urls
    if (Array.isArray(urls) && urls.length > 0)
      this.#named = urls.map(parseClusterAddress).filter((server) => server !== undefined)
  }

  #tlsOptions(): ReturnType<typeof readTls> | undefined {
    const { access, requiresTls } = this.#place
    if (typeof access.tls === 'object') return readTls(access.tls)
    return requiresTls ? readTls({}) : undefined
  }

  #connectionOptions(
    { host, port, tlsName, offersTls }: Greeting,
    tls: ReturnType<typeof readTls> | undefined,
    credentials: typeof import('@nats-io/transport-node').credsAuthenticator,
  ): ConnectionOptions {
    const { credentialsFile, user, pass, token, inboxPrefix } = this.#place.access
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
    if (tls !== undefined && !offersTls && tls.handshakeFirst !== true)
      throw refused(
        `${address} offers no TLS, but TLS is required: give the server a certificate, or omit the option tls`,
      )
    // A cluster reports the IP addresses of its servers, but their certificates contain the host name that the caller
    // passed.
    const servername = tlsName ?? this.#place.servers.find(({ host: name }) => isIP(name) === 0)?.host
    const encrypted = offersTls || tls !== undefined
    return {
      servers: [address],
      name: 'durlog',
      reconnect: false,
      timeout: this.#place.timeoutMs,
      pingInterval: PING_INTERVAL_MS,
      maxPingOut: MAX_UNANSWERED_PINGS,
      noAsyncTraces: true,
      ...(user !== undefined && { user }),
      ...(pass !== undefined && { pass }),
      ...(token !== undefined && { token }),
      ...(inboxPrefix !== undefined && { inboxPrefix }),
      ...(encrypted && { tls: { ...tls, ...(servername !== undefined && { servername }) } }),
      ...(credentialsFile !== undefined && { authenticator: readCredentials(credentialsFile, credentials) }),
    }
  }

  /** Handles the status events of the connection until it is closed. */
  async #watch({ nc }: LiveLink): Promise<void> {
    for await (const status of nc.status()) {
      if (this.#live?.nc !== nc) return
      if (status.type === 'update') this.#noteServers(nc)
      const lost = lossOf(status)
      if (lost instanceof Unanswered && this.#isOwn(nc)) void this.#drop(nc, lost)
      else if (lost !== undefined) this.#tell(lost)
      if (status.type === 'close') break
    }
    const reason = await nc.closed()
    if (this.#live?.nc === nc) this.#lose(new Error(`the connection was lost: ${reason?.message ?? 'closed'}`))
  }

  /**
   * Reports the loss, then closes the connection. Does not wait for the client to report a disconnect: for a stopped
   * server, it does so only after that server has read everything that was sent to it.
   */
  async #drop(nc: NatsConnection, error: Error): Promise<void> {
    this.#lose(error)
    await closeConnection(nc)
  }

  #lose(error: Error): void {
    this.#live = undefined
    this.#tell(error)
  }

  #tell(error: Error): void {
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of listeners) listener(error)
  }
}

/** Calls `work` with a connection until it succeeds, or rejects with a DurlogError. Then closes the connection. */
export async function withLink<Result>(
  options: ResolvedPlace & PauseOptions,
  work: (live: LiveLink, link: NatsLink) => Promise<Result>,
): Promise<Result> {
  const { signal } = options
  const link = new NatsLink(options)
  const forget = onAbort(signal, () => void link.close())
  const attempt = async (): Promise<Result> => {
    try {
      signal?.throwIfAborted()
      return await work(await link.open(), link)
    } catch (error) {
      signal?.throwIfAborted()
      await link.leaveAfter(error)
      throw error
    }
  }
  try {
    const isTransient = (error: unknown): boolean => !(error instanceof DurlogError)
    return await attempts(Number.POSITIVE_INFINITY, attempt, { ...options, isTransient })
  } finally {
    forget()
    await link.close()
  }
}

/**
 * Closes the connection in the next turn of the event loop. The listeners of a lost connection end their subscriptions,
 * which writes to the socket. If the server has ended the connection, this write fails, and the client handles the
 * error only before `close`. After `close`, the error would end the process.
 */
async function closeConnection(nc: NatsConnection): Promise<void> {
  await nextTurn()
  await nc.close()
}

function keyOf({ host, port }: ServerAddress): string {
  return `${host} ${port}`
}

/** Returns the connection. Rejects as soon as `signal` is aborted; a connection that is made after that is closed. */
function untilAborted(connecting: Promise<NatsConnection>, signal: AbortSignal): Promise<NatsConnection> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason)
      connecting.then(
        (nc) => nc.close(),
        () => {},
      )
    }
    signal.addEventListener('abort', abort, { once: true })
    connecting.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
    if (signal.aborted) abort()
  })
}

function lossOf(status: Status): Error | undefined {
  if (status.type === 'staleConnection') return new Unanswered('the server does not respond to pings')
  if (status.type === 'disconnect') return new Error('the connection was lost')
  return status.type === 'error' ? fromClientError(status.error, 'the server reported') : undefined
}

function readCredentials(
  path: string,
  credentials: typeof import('@nats-io/transport-node').credsAuthenticator,
): Authenticator {
  const authenticate = credentials(readSecret(path))
  return (nonce) => {
    try {
      return authenticate(nonce)
    } catch (cause) {
      throw refused(`${path} holds no credentials: ${(cause as Error).message}`, cause)
    }
  }
}

function readTls({ caFile, certFile, keyFile, handshakeFirst }: NatsTls): TlsOptions {
  return {
    ...(caFile !== undefined && { ca: readSecret(caFile).toString() }),
    ...(certFile !== undefined && { cert: readSecret(certFile).toString() }),
    ...(keyFile !== undefined && { key: readSecret(keyFile).toString() }),
    ...(handshakeFirst !== undefined && { handshakeFirst }),
  }
}

function readSecret(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw refused(`the file ${path} cannot be read: ${(cause as Error).message}`, cause)
  }
}
