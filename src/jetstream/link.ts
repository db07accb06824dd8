/** The connection to the servers. It does not reconnect by itself: the shipper's pauses do. */
import { readFileSync } from 'node:fs'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { Authenticator, ConnectionOptions, NatsConnection, Status, TlsOptions } from '@nats-io/transport-node'
import { DurlogError } from '../errors.js'
import type { ResolvedPlace } from './options.js'
import { loadPeers } from './peers.js'
import { fromClientError, refused } from './refusals.js'
import type { NatsTls } from './types.js'

export interface LiveLink {
  readonly nc: NatsConnection
  readonly manager: JetStreamManager
}

export class Link {
  readonly #place: ResolvedPlace
  /** Calls of `onLost`, for the present connection. */
  readonly #listeners = new Set<(error: Error) => void>()
  #live: LiveLink | undefined
  /** Servers that the cluster has told of. */
  #gossip: readonly string[] = []
  #connections = 0
  #closed = false

  constructor(place: ResolvedPlace) {
    this.#place = place
  }

  get reconnects(): number {
    return Math.max(0, this.#connections - 1)
  }

  /** The connection, made if there is none. Throws as a target does. */
  async open(): Promise<LiveLink> {
    this.#checkOpen()
    if (this.#live !== undefined) return this.#live
    const { transport, jetStream } = await loadPeers()
    const nc = await this.#connect(transport.connect, transport.credsAuthenticator)
    const { domain } = this.#place.access
    const manager = await jetStream.jetstreamManager(nc, {
      checkAPI: false,
      timeout: this.#place.timeoutMs,
      ...(domain !== undefined && { domain }),
    })
    if (this.#closed) {
      await this.#release(nc)
      this.#checkOpen()
    }
    this.#live = { nc, manager }
    this.#connections++
    void this.#watch(nc)
    return this.#live
  }

  /** Calls `listener` once when the connection is lost or the server refuses something. Returns what takes it back. */
  onLost(listener: (error: Error) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.#closed = true
    const nc = this.#live?.nc
    this.#lose(new DurlogError('ERR_DURLOG_CLOSED', 'the shipper has been closed'))
    if (nc !== undefined) await this.#release(nc)
  }

  #checkOpen(): void {
    if (this.#closed) throw new DurlogError('ERR_DURLOG_CLOSED', 'the shipper has been closed')
  }

  async #connect(
    connect: (options: ConnectionOptions) => Promise<NatsConnection>,
    credentials: typeof import('@nats-io/transport-node').credsAuthenticator,
  ): Promise<NatsConnection> {
    const { connection } = this.#place.access
    if (connection !== undefined) {
      if (connection.isClosed()) throw refused('the connection was closed by its owner: ship again with an open one')
      return connection
    }
    try {
      return await connect(this.#connectionOptions(credentials))
    } catch (error) {
      throw fromClientError(error, 'connecting')
    }
  }

  #connectionOptions(credentials: typeof import('@nats-io/transport-node').credsAuthenticator): ConnectionOptions {
    const { servers, credentialsFile, user, pass, token, tls, inboxPrefix } = this.#place.access
    return {
      servers: [...new Set([...(servers as string[]), ...this.#gossip])],
      name: 'durlog',
      reconnect: false,
      timeout: this.#place.timeoutMs,
      noAsyncTraces: true,
      ...(user !== undefined && { user }),
      ...(pass !== undefined && { pass }),
      ...(token !== undefined && { token }),
      ...(inboxPrefix !== undefined && { inboxPrefix }),
      ...(tls !== undefined && tls !== false && { tls: readTls(tls === true ? {} : tls) }),
      ...(credentialsFile !== undefined && { authenticator: readCredentials(credentialsFile, credentials) }),
    }
  }

  /** Follows the connection until it is closed. */
  async #watch(nc: NatsConnection): Promise<void> {
    for await (const status of nc.status()) {
      if (this.#live?.nc !== nc) return
      const lost = lossOf(status)
      if (lost !== undefined) this.#tell(lost)
      if (status.type === 'close') break
    }
    if (this.#live?.nc !== nc) return
    this.#gossip = (nc.info?.connect_urls ?? []).slice()
    const reason = await nc.closed()
    if (this.#live?.nc === nc) this.#lose(new Error(`the connection was lost: ${reason?.message ?? 'closed'}`))
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

  async #release(nc: NatsConnection): Promise<void> {
    if (nc !== this.#place.access.connection) await nc.close()
  }
}

function lossOf(status: Status): Error | undefined {
  if (status.type === 'disconnect') return new Error('the connection was lost')
  return status.type === 'error' ? fromClientError(status.error, 'the server refused') : undefined
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

/** Read at each connection, so that a file that was replaced is noticed. */
function readSecret(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw refused(`${path}, which says who is trusted, cannot be read: ${(cause as Error).message}`, cause)
  }
}
