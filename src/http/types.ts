/** The public types of `durlog/http`. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ByteSize, Duration } from '../index.js'

/** The rights of a request. A right that is missing is not granted. */
export interface Rights {
  /** GET and HEAD, and forking a stream. */
  read?: boolean | undefined
  /** POST. */
  write?: boolean | undefined
  /** PUT. */
  create?: boolean | undefined
  delete?: boolean | undefined
  /** List the names of streams, and read the server's metrics. */
  list?: boolean | undefined
  /** The streams of the request are those whose names begin with this text and a slash. Default: all. */
  tenant?: string | undefined
}

/** A request as `authorize` gets it. */
export interface HttpRequest {
  method: string
  /** Path and query, as they were sent. */
  target: string
  /** The name that the path has without a tenant. */
  stream: string
  /** The value of a header, whose name is given in lower case. */
  header(name: string): string | undefined
}

export interface RequestReport {
  method: string
  target: string
  status: number
  durationMs: number
  /** That of the header X-Request-Id, or a new one. */
  requestId: string
  /** Why the server ended the connection. */
  dropped?: DropReason | undefined
}

/**
 * `slow-reader`: it read nothing for `slowReaderMs`, or slowly while others needed the memory for its answer. `slow-writer`: it sent its
 * body slowly while others needed the memory for it.
 */
export type DropReason = 'slow-reader' | 'slow-writer'

export interface HandlerOptions {
  /** The path before the names of streams. Default `/`. */
  prefix?: string | undefined
  /** Decides what a request may do; undefined refuses it with 401. Default: everything. */
  authorize?: ((request: HttpRequest) => Rights | undefined | Promise<Rights | undefined>) | undefined
  /** Refuse everything but reads. Default false. */
  readOnly?: boolean | undefined
  /** Origins that browsers may call from, or `*`. Default: none. Pages of the server itself may always call. */
  cors?: string | readonly string[] | undefined
  /** The longest body in bytes: 1 to 8 MiB. Default 8 MiB. */
  maxBodyBytes?: ByteSize | undefined
  /** About as many bytes as one answer of a catch-up read has at most. Default 1 MiB. */
  chunkBytes?: ByteSize | undefined
  /** Streams that a tenant may have. Default: no limit. */
  maxStreams?: number | undefined
  /** Long-polls and event streams that are open at a time. Default 20,000. */
  maxLive?: number | undefined
  /** How long a long-poll waits. Default 30,000. */
  longPollMs?: Duration | undefined
  /** How long an event stream lasts before the client connects again. Default 60,000. */
  sseMs?: Duration | undefined
  /** A client that reads nothing of its answer or events for so long is dropped. Default 30,000. */
  slowReaderMs?: Duration | undefined
  /**
   * Bytes of bodies that arrive and of answers that are not read that may wait in memory, about. With more, the clients that take longest
   * are dropped. Default 256 MiB.
   */
  maxBufferedBytes?: ByteSize | undefined
  /** Cache-Control of data that does not change: `public`, `private` or `no-store`. Default `public`; with `authorize`, `private`. */
  cache?: 'public' | 'private' | 'no-store' | undefined
  /** Called after each request. */
  onRequest?: ((report: RequestReport) => void) | undefined
  /**
   * Called with the cause of each answer of 500, such as an error of `authorize`, and with the first error of the device. Default: emits a
   * warning of the process.
   */
  onError?: ((error: unknown) => void) | undefined
}

/** Both in PEM. The certificate may be followed by those of its issuers; the key is not encrypted. */
export interface TlsOptions {
  cert: string | Buffer
  key: string | Buffer
}

export interface ServerOptions extends HandlerOptions {
  /** Default `127.0.0.1`. */
  host?: string | undefined
  /** Default 4437, that of the protocol; 0 takes any. */
  port?: number | undefined
  /** Serve HTTPS. */
  tls?: TlsOptions | undefined
  /** Connections that are open at a time; others are closed at once. Default 25,000. */
  maxConnections?: number | undefined
  /** Serve a page at `/` that shows the streams. Default false. */
  ui?: boolean | undefined
}

export interface LogServerOptions extends Omit<ServerOptions, 'readOnly'> {
  /** Of the log's records. Of `application/json` each is a value. Default `application/octet-stream`. */
  contentType?: string | undefined
}

/** A server of streams. */
export interface StreamsServer extends AsyncDisposable {
  readonly url: string
  /**
   * Uses a renewed certificate for new connections. Throws ERR_DURLOG_INVALID_ARGUMENT if the key is not that of the certificate,
   * or the server has no HTTPS; then the earlier certificate stays in use.
   */
  setTls(tls: TlsOptions): void
  /** Refuses new connections, ends live reads with a control event and finishes appends; settles within 5 seconds. */
  close(): Promise<void>
}

/** Serves streams by the Durable Streams protocol: for `node:http` by the call, for everything else by `fetch`. */
export interface StreamsHandler {
  (request: IncomingMessage, response: ServerResponse): void
  /** For Hono, Next.js, Bun and Deno. */
  fetch(request: Request): Promise<Response>
  /** False while appends fail because of the device, and once the streams or the handler are closed. */
  isHealthy(): boolean
  /** Counters and gauges, in the text format of Prometheus. */
  metrics(): Promise<string>
  /** Ends live reads with a control event; settles when appends in progress have been answered. */
  close(): Promise<void>
}
