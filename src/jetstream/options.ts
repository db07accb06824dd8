/** The names, defaults and checks of `ShipOptions`, `NatsAccess` and `JetStreamPlace`. */
import { invalidArgument } from '../errors.js'
import type { ReadableLog } from '../index.js'
import { bag, choice, flag, shown, whole } from '../options/checks.js'
import { type ResolvedShipperOptions, resolveShipperOptions, SHIPPER_OPTION_NAMES } from '../ship/options.js'
import { resolveServers, type ServerAddress } from './servers.js'
import type { JetStreamPlace, NatsAccess, NatsTls, ShipOptions } from './types.js'

const ACCESS_NAMES: readonly string[] = [
  'connection',
  'servers',
  'credentialsFile',
  'user',
  'pass',
  'token',
  'tls',
  'inboxPrefix',
  'domain',
  'timeoutMs',
] satisfies (keyof NatsAccess)[]

export const PLACE_NAMES: readonly string[] = [
  ...ACCESS_NAMES,
  ...(['stream', 'subject'] satisfies (keyof JetStreamPlace)[]),
]

const SHIP_NAMES: readonly string[] = [
  ...SHIPPER_OPTION_NAMES,
  ...PLACE_NAMES,
  'replicas',
  'create',
  'oversized',
  'pack',
]

/** The default of `maxInFlight` with `pack`: `maxInFlightBytes` is the limit. */
const PACKED_IN_FLIGHT = 65_536

export interface ResolvedPlace {
  stream: string
  subject: string | undefined
  access: NatsAccess
  servers: readonly ServerAddress[]
  requiresTls: boolean
  timeoutMs: number
}

export interface ResolvedShipOptions extends ResolvedPlace {
  shipper: ResolvedShipperOptions
  replicas: number
  create: boolean
  split: boolean
  packs: boolean
}

/** As `resolveShipperOptions`. */
export function resolveShipOptions(log: ReadableLog | undefined, options: unknown): ResolvedShipOptions {
  const given = bag('ship options', options, SHIP_NAMES) as unknown as ShipOptions
  const packs = flag('pack', given.pack, log === undefined)
  return {
    ...resolvePlace(given),
    shipper: resolveShipperOptions(log, given, packs ? PACKED_IN_FLIGHT : undefined),
    packs,
    replicas: whole('replicas', given.replicas, { min: 1, max: 5, unit: 'replicas' }, 1),
    create: flag('create', given.create, true),
    split: choice('oversized', given.oversized, ['split', 'refuse'], 'split') === 'split',
  }
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolvePlace(given: NatsAccess & Partial<JetStreamPlace>): ResolvedPlace {
  const { stream, subject, tls } = given
  if (typeof stream !== 'string' || !/^[^\s.*>/\\]+$/.test(stream))
    throw invalidArgument(
      `stream must be a stream's name, without white space, ".", "*", ">", "/" and "\\"; got ${shown(stream)}`,
    )
  if (subject !== undefined && (typeof subject !== 'string' || !/^[^\s.*>]+(\.[^\s.*>]+)*$/.test(subject)))
    throw invalidArgument(`subject must be a subject without wildcards; got ${shown(subject)}`)
  for (const name of ['credentialsFile', 'user', 'pass', 'token', 'inboxPrefix', 'domain'] as const) {
    const value: unknown = given[name]
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      throw invalidArgument(
        `${name} must be a string; got ${name === 'pass' || name === 'token' ? typeof value : shown(value)}`,
      )
  }
  if (tls !== undefined && typeof tls !== 'boolean')
    bag('tls', tls, ['caFile', 'certFile', 'keyFile', 'handshakeFirst'] satisfies (keyof NatsTls)[])
  if (given.connection !== undefined && given.servers !== undefined)
    throw invalidArgument('connection and servers cannot be combined: set one of them; got both')
  const { addresses, requiresTls } = resolveServers(given.servers)
  if (requiresTls && tls === false) throw invalidArgument('tls must not be false for a server that begins with tls://')
  const timeoutMs = whole('timeoutMs', given.timeoutMs, { min: 1, max: 2 ** 31 - 1, unit: 'milliseconds' }, 10_000)
  return {
    stream,
    subject,
    access: given,
    servers: addresses,
    requiresTls: requiresTls || (tls !== undefined && tls !== false),
    timeoutMs,
  }
}
