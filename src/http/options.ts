/** Checks the options of a handler or server and fills in the defaults. */
import { invalidArgument } from '../errors.js'
import { bag, choice, flag, type Range, shown, urlOf, whole } from '../options/checks.js'
import { checkTls } from './tls.js'
import type { HandlerOptions, ServerOptions, TlsOptions } from './types.js'

const NAMES: readonly string[] = [
  'prefix',
  'authorize',
  'hosts',
  'readOnly',
  'cors',
  'maxBodyBytes',
  'chunkBytes',
  'maxStreams',
  'maxLive',
  'longPollMs',
  'sseMs',
  'slowReaderMs',
  'maxBufferedBytes',
  'cache',
  'onRequest',
  'onError',
] satisfies (keyof HandlerOptions)[]
/** The maximum length of a record of a stream. */
const BODY_MAX_BYTES = 8 << 20
const count = (min: number, unit: string): Range => ({ min, max: 2 ** 31 - 1, unit })
/** The ranges of the options that are also flags of `durlog serve`. */
export const PORTS: Range = { min: 0, max: 65_535 }
export const BODY_SIZES: Range = { min: 1, max: BODY_MAX_BYTES, unit: 'bytes' }
export const STREAM_COUNTS: Range = count(0, 'streams')
export const WAITS: Range = count(1, 'milliseconds')
export const CONNECTION_COUNTS: Range = { min: 1, max: 2 ** 20, unit: 'connections' }
const CACHES = ['public', 'private', 'no-store'] as const

export interface ResolvedHandlerOptions {
  prefix: string
  authorize: HandlerOptions['authorize']
  hosts: readonly string[] | undefined
  readOnly: boolean
  cors: readonly string[]
  maxBodyBytes: number
  chunkBytes: number
  maxStreams: number
  maxLive: number
  longPollMs: number
  sseMs: number
  slowReaderMs: number
  maxBufferedBytes: number
  cache: (typeof CACHES)[number]
  onRequest: HandlerOptions['onRequest']
  onError: (error: unknown) => void
}

export function resolveHandlerOptions(options: unknown): ResolvedHandlerOptions {
  const given = bag('options', options, NAMES) as HandlerOptions
  const { prefix = '/', authorize, cors = [], onRequest, maxStreams } = given
  if (typeof prefix !== 'string' || !prefix.startsWith('/') || !prefix.endsWith('/'))
    throw invalidArgument(`prefix must be a path that begins and ends with a slash; got ${shown(prefix)}`)
  return {
    prefix,
    authorize: callable('authorize', authorize),
    hosts: given.hosts === undefined ? undefined : namesOf('hosts', given.hosts),
    readOnly: flag('readOnly', given.readOnly, false),
    cors: originsOf('cors', cors),
    maxBodyBytes: whole('maxBodyBytes', given.maxBodyBytes, BODY_SIZES, BODY_MAX_BYTES),
    chunkBytes: whole('chunkBytes', given.chunkBytes, { min: 1, max: 2 ** 26, unit: 'bytes' }, 1 << 20),
    maxStreams: maxStreams === undefined ? Number.POSITIVE_INFINITY : whole('maxStreams', maxStreams, STREAM_COUNTS, 0),
    maxLive: whole('maxLive', given.maxLive, count(0, 'requests'), 20_000),
    longPollMs: whole('longPollMs', given.longPollMs, WAITS, 30_000),
    sseMs: whole('sseMs', given.sseMs, count(1, 'milliseconds'), 60_000),
    slowReaderMs: whole('slowReaderMs', given.slowReaderMs, count(1, 'milliseconds'), 30_000),
    maxBufferedBytes: whole(
      'maxBufferedBytes',
      given.maxBufferedBytes,
      { min: 1, max: 2 ** 40, unit: 'bytes' },
      2 ** 28,
    ),
    cache: choice('cache', given.cache, CACHES, authorize === undefined ? 'public' : 'private'),
    onRequest: callable('onRequest', onRequest),
    onError: callable('onError', given.onError) ?? warn,
  }
}

function listed(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

/** Returns the origins of the option or flag `name`. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function originsOf(name: string, cors: unknown): readonly string[] {
  const origins = listed(cors)
  const wrong = origins.findIndex((origin) => !isOrigin(origin))
  if (wrong === -1) return origins as readonly string[]
  throw invalidArgument(
    `${name} must be *, or origins such as https://app.example, without a path; got ${shown(origins[wrong])}`,
  )
}

/** Whether `text` can be the header Origin of a browser, or is "*". An origin in another notation would never match. */
function isOrigin(text: unknown): text is string {
  if (text === '*' || text === 'null') return true
  if (typeof text !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\/[!-.0-~]+$/.test(text)) return false
  const url = urlOf(text)
  return url !== undefined && (!text.startsWith('http') || url.origin === text)
}

const NAME = /^[\w-]+(\.[\w-]+)*$/

/** Returns the host names of the option or flag `name` in lower case. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function namesOf(name: string, hosts: unknown): readonly string[] {
  return listed(hosts).map((host) => {
    if (typeof host === 'string' && NAME.test(host)) return host.toLowerCase()
    throw invalidArgument(`${name} must be names such as streams.example, without a port; got ${shown(host)}`)
  })
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? (error.stack ?? String(error)) : String(error), 'DurlogHttpError')
}

function callable<F>(name: string, value: F): F {
  if (value !== undefined && typeof value !== 'function')
    throw invalidArgument(`${name} must be a function; got ${shown(value)}`)
  return value
}

const SERVER_NAMES: readonly string[] = [
  'host',
  'port',
  'tls',
  'maxConnections',
  'ui',
] satisfies (keyof ServerOptions)[]
const DEFAULT_PORT = 4437

export interface ResolvedServerOptions {
  host: string
  port: number
  tls: TlsOptions | undefined
  maxConnections: number
  ui: boolean
  handlerOptions: HandlerOptions
}

export function resolveServerOptions(options: unknown): ResolvedServerOptions {
  const given = bag('options', options, [...SERVER_NAMES, ...NAMES]) as ServerOptions
  const { host = '127.0.0.1', port, tls, maxConnections, ui, ...handlerOptions } = given
  if (typeof host !== 'string') throw invalidArgument(`host must be an address or a name; got ${shown(host)}`)
  // Without credentials, a page with a rebound name could use the server. Its name is not in the certificate.
  const isOpen = handlerOptions.authorize === undefined && tls === undefined
  const hosts = handlerOptions.hosts ?? (isOpen ? [] : undefined)
  // Clients may use the name on which the server listens.
  const own = NAME.test(host) ? [host] : []
  return {
    host,
    port: whole('port', port, PORTS, DEFAULT_PORT),
    tls: tls === undefined ? undefined : checkTls(tls),
    maxConnections: whole('maxConnections', maxConnections, CONNECTION_COUNTS, 25_000),
    ui: flag('ui', ui, false),
    handlerOptions: { ...handlerOptions, hosts: hosts && namesOf('hosts', [...listed(hosts), ...own]) },
  }
}
