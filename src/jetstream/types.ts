/** The options and results of `ship` and `restore`. */
import type { NatsConnection } from '@nats-io/transport-node'
import type { ByteSize, Duration, LeaseView } from '../index.js'
import type { ReplicateOptions } from '../ship/options.js'
import type { CommonRestoreOptions, ShipperOptions, ShipRetry } from '../ship/types.js'

export interface NatsTls {
  caFile?: string | undefined
  certFile?: string | undefined
  keyFile?: string | undefined
  /** Whether the server expects TLS before its greeting. Default false. */
  handshakeFirst?: boolean | undefined
}

/** The access to the servers: either `connection`, or `servers` with the options for connecting to them. */
export interface NatsAccess {
  /**
   * A connection of the caller, which durlog does not close. It should reconnect without a limit
   * (`maxReconnectAttempts: -1`).
   */
  connection?: NatsConnection | undefined
  /** One or more of `nats://host:port` or `tls://host:port`, which requires TLS. Default `nats://127.0.0.1:4222`. */
  servers?: string | readonly string[] | undefined
  /** The path of a file with the JWT and the seed of a user, in the format of `nsc`. */
  credentialsFile?: string | undefined
  user?: string | undefined
  pass?: string | undefined
  token?: string | undefined
  /** Requires TLS if it is `true` or an object. Default: TLS is used if the server offers it. */
  tls?: boolean | NatsTls | undefined
  /** The prefix of the subjects to which servers send responses. Default `_INBOX`. */
  inboxPrefix?: string | undefined
  /** The JetStream domain. */
  domain?: string | undefined
  /** The longest time for a connection, a response or an acknowledgement, in milliseconds. Default 10 s. */
  timeoutMs?: Duration | undefined
}

/** A subject of a stream, which holds the records of one log. */
export interface JetStreamPlace {
  stream: string
  /**
   * The subject, without wildcards. Each log needs a separate subject. Default: the stream's only subject; for a new
   * stream, its name in lower case.
   */
  subject?: string | undefined
}

export interface ShipOptions extends ShipperOptions, NatsAccess, JetStreamPlace {
  /** The number of replicas of a stream that is created: 1 to 5. Default 1. */
  replicas?: number | undefined
  /** Create the stream if it is missing and nothing was shipped yet. Default true. */
  create?: boolean | undefined
  /**
   * A record that is longer than a message may be: `split` (default) publishes it as several messages, `refuse` stops
   * the shipper with ERR_DURLOG_RECORD_TOO_LARGE.
   */
  oversized?: 'split' | 'refuse' | undefined
  /**
   * Store several records in one message, which is much faster. The stream's other consumers must unpack them. Default:
   * true in `jetstream`, false in `ship`.
   */
  pack?: boolean | undefined
}

export interface ReplicateJetStreamOptions extends Omit<ShipOptions, 'signal'>, ReplicateOptions {}

export interface RestoreOptions extends NatsAccess, JetStreamPlace, CommonRestoreOptions {
  /** The first seq to restore. Default: the oldest record that the stream holds. */
  from?: number | undefined
  /** End before this seq. Default: after the newest record that the stream holds when the restore begins. */
  to?: number | undefined
  /** The log's `segmentBytes`. Default 64 MiB. Every record must fit into a segment. */
  segmentBytes?: ByteSize | undefined
  /** Called every 1000 records with the number of restored records and the total. */
  onProgress?: ((restored: number, total: number) => void) | undefined
}

export interface TakeOverOptions extends Omit<RestoreOptions, 'to' | 'until' | 'follow' | 'onCaughtUp'> {
  /** Also replace a copy that has taken over and shipped nothing yet. Default false: reject with ERR_DURLOG_FENCED. */
  force?: boolean | undefined
}

export interface RejoinOptions extends NatsAccess, JetStreamPlace {
  /**
   * The folder for the records that were never replicated: a log with the same seqs and times. Not created if there are
   * none.
   */
  into: string | URL
  /** As in `RestoreOptions`. */
  retryForMs?: Duration | undefined
  onRetry?: ((retry: ShipRetry) => void) | undefined
  /** Aborting the signal ends the requests to the server: `rejoin` rejects with its reason. */
  signal?: AbortSignal | undefined
}

export interface StandByOptions extends Omit<TakeOverOptions, 'force' | 'from'> {
  /** Called after each look at the lease. */
  onLease?: ((lease: LeaseView) => void) | undefined
}

export interface TakeOverReport extends RestoreReport {
  /** The generation that this copy has claimed. */
  generation: number
}

export interface RestoreReport {
  uuid: string
  firstSeq: number
  nextSeq: number
  /** The number of records that this call restored. */
  records: number
  /** Whether this call continued an unfinished restore. */
  resumed: boolean
}
