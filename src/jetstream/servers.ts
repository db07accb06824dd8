/** Parses the addresses of servers that the caller or the cluster provides. */
import { invalidArgument } from '../errors.js'
import { shown, shownAddress, urlOf } from '../options/checks.js'

const DEFAULT_PORT = 4222

export interface ServerAddress {
  /** A name or an IP address, without brackets. */
  host: string
  port: number
}

export interface ServerList {
  addresses: readonly ServerAddress[]
  /** Whether at least one of the addresses begins with `tls://`. */
  requiresTls: boolean
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveServers(servers: unknown): ServerList {
  const list: unknown[] =
    servers === undefined ? ['nats://127.0.0.1:4222'] : Array.isArray(servers) ? servers : [servers]
  const urls = list.map(parseUrl)
  if (urls.length === 0) throw badServers('an empty list')
  return {
    addresses: urls.map(addressOf),
    requiresTls: urls.some(({ protocol }) => protocol === 'tls:'),
  }
}

/** Parses the `host:port` of another server of the cluster. Undefined if the text is not an address. */
export function parseClusterAddress(text: string): ServerAddress | undefined {
  const url = urlOf(`nats://${text}`)
  return url && addressOf(url)
}

function parseUrl(server: unknown): URL {
  const text = typeof server === 'string' && !server.includes('://') ? `nats://${server}` : server
  const url = typeof text === 'string' ? urlOf(text) : undefined
  if (url === undefined) throw badServers(shownAddress(server))
  // The text may contain a password, so the message does not repeat it.
  if (url.username !== '' || url.password !== '')
    throw invalidArgument('servers must not contain a user or a password: use the options user, pass and token')
  if ((url.protocol !== 'nats:' && url.protocol !== 'tls:') || url.hostname === '') throw badServers(shown(server))
  return url
}

function badServers(got: string): Error {
  return invalidArgument(`servers must be one or more of nats://host:port or tls://host:port; got ${got}`)
}

function addressOf({ hostname, port }: URL): ServerAddress {
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? DEFAULT_PORT : Number(port) }
}
