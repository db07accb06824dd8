/** The options and results of `ship` and `restore`. */
import type { NatsConnection } from '@nats-io/transport-node'
import type { ByteSize, Duration } from '../index.js'
import type { ShipperOptions } from '../ship/types.js'

export interface NatsTls {
  caFile?: string | undefined
  certFile?: string | undefined
  keyFile?: string | undefined
  /** The server begins with TLS, before its greeting. */
  handshakeFirst?: boolean | undefined
}

/** How to reach the servers: `connection`, or `servers` with the options for them. */
export interface NatsAccess {
  /** The caller's connection; it is not closed. It should reconnect by itself for ever (`maxReconnectAttempts: -1`). */
  connection?: NatsConnection | undefined
  /** One or more of `nats://host:port` or `tls://host:port`, which requires TLS. Default `nats://127.0.0.1:4222`. */
  servers?: string | readonly string[] | undefined
  /** A file with the JWT and the seed of a user, as `nsc` writes it. */
  credentialsFile?: string | undefined
  user?: string | undefined
  pass?: string | undefined
  token?: string | undefined
  /** `true`, or files: require TLS. */
  tls?: boolean | NatsTls | undefined
  /** The prefix of subjects for answers; default `_INBOX`. */
  inboxPrefix?: string | undefined
  /** The JetStream domain. */
  domain?: string | undefined
  /** The longest time for a connection, an answer or an acknowledgement; default 10 s. */
  timeoutMs?: Duration | undefined
}

/** A subject of a stream, which holds the records of one log. */
export interface JetStreamPlace {
  stream: string
  /** Without wildcards; one for each log. Default: the stream's only subject, or its name in lower case for a new one. */
  subject?: string | undefined
}

export interface ShipOptions extends ShipperOptions, NatsAccess, JetStreamPlace {
  /** The replicas of a stream that is created; default 1. */
  replicas?: number | undefined
  /** Create the stream if it is missing and nothing was shipped yet; default true. */
  create?: boolean | undefined
  /** A record longer than a message may be: `split` it into several (default), or `refuse` it, which stops the shipper. */
  oversized?: 'split' | 'refuse' | undefined
}

export interface RestoreOptions extends NatsAccess, JetStreamPlace {
  /** The first seq; default: the oldest that the stream holds. */
  from?: number | undefined
  /** End before this seq; default: after the newest one when the restore begins. */
  to?: number | undefined
  /** End before the first record at or after this time (a `Date`, or milliseconds since 1970). */
  until?: Date | number | undefined
  /** Do not end: a replica for reading, until `signal`. */
  follow?: boolean | undefined
  /** The segment length of the log; default 64 MiB. A record must fit into a segment. */
  segmentBytes?: ByteSize | undefined
  /** See `ShipperOptions`. */
  retryForMs?: Duration | undefined
  /** Called every 1000 records with the number of restored records and the total. */
  onProgress?: ((restored: number, total: number) => void) | undefined
  signal?: AbortSignal | undefined
}

export interface RestoreReport {
  uuid: string
  firstSeq: number
  nextSeq: number
  /** The number of records that this call restored. */
  records: number
  /** Whether it continued an unfinished restore. */
  resumed: boolean
}
