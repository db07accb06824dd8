/** The public types of `durlog/http`. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ByteSize, Duration } from '../index.js'

/** The rights of a request. A missing right is not granted. */
export interface Rights {
  /** GET and HEAD, and PUT of a fork of the stream. */
  read?: boolean | undefined
  /** POST: append and close. */
  write?: boolean | undefined
  /** PUT: create. */
  create?: boolean | undefined
  /** DELETE. */
  delete?: boolean | undefined
  /** List the streams, and read the server's metrics. */
  list?: boolean | undefined
  /**
   * The request can only use streams whose names begin with this text and a slash. The paths of the request do not
   * contain this part. 1 to 256 characters without spaces and slashes. Default: all streams.
   */
  tenant?: string | undefined
}

/** What `authorize` returns: no rights if it is not an object, so that `user && { … }` can be returned. */
type MaybeRights = Rights | undefined | null | false

/** A request in the form in which `authorize` gets it. */
export interface HttpRequest {
  method: string
  /** The path and the query, as they were sent. */
  target: string
  /** The name of the stream as in the path, without the tenant. '' for the list of streams and for the metrics. */
  stream: string
  /** Returns the value of a header. `name` must be in lower case. */
  header(name: string): string | undefined
}

/** A finished request, for `onRequest`. */
export interface RequestReport {
  method: string
  target: string
  status: number
  durationMs: number
  /** The value of the request's header X-Request-Id, or a new UUID. */
  requestId: string
  /** The reason if the server closed the connection of a slow client. */
  dropped?: DropReason | undefined
}

/**
 * `slow-reader`: the client read nothing for `slowReaderMs`, or read slowly while other requests needed the memory of
 * its answer. `slow-writer`: it sent its body slowly while other requests needed the memory.
 */
export type DropReason = 'slow-reader' | 'slow-writer'

export interface HandlerOptions {
  /** The path before the names of streams, which begins and ends with a slash. Default `/`. */
  prefix?: string | undefined
  /**
   * Returns the rights of a request; undefined, null or false refuses it with 401. Default: every request has all
   * rights.
   */
  authorize?: ((request: HttpRequest) => MaybeRights | Promise<MaybeRights>) | undefined
  /**
   * The names by which clients may address the server, apart from IP addresses, `localhost`, names that end with
   * `.localhost`, and the option `host`. Requests with another Host get 403. Default: all names; in `serveStreams` and
   * `serveLog` without `authorize` and `tls`, none.
   */
  hosts?: readonly string[] | undefined
  /** Refuse all requests except reads. Default false. */
  readOnly?: boolean | undefined
  /**
   * The origins of pages that may call the server from a browser, such as `https://app.example`, or `*` for all. Pages
   * of named origins may use cookies. Default: only pages of the server itself.
   */
  cors?: string | readonly string[] | undefined
  /** The maximum length of a body, in bytes: 1 to 8 MiB. Default 8 MiB. */
  maxBodyBytes?: ByteSize | undefined
  /** The approximate maximum length of an answer to a read, in bytes: 1 to 64 MiB. Default 1 MiB. */
  chunkBytes?: ByteSize | undefined
  /** The maximum number of streams of a tenant. Default: no limit. */
  maxStreams?: number | undefined
  /**
   * The maximum number of long-polls and event streams that are open at the same time. Beyond it, a request ends the
   * oldest one of the tenant that has most, or gets 503 if its own tenant has as many. Default 20,000.
   */
  maxLive?: number | undefined
  /** How long a long-poll waits, in milliseconds. Default 30,000. */
  longPollMs?: Duration | undefined
  /** How long an event stream stays open, in milliseconds. Then the client connects again. Default 60,000. */
  sseMs?: Duration | undefined
  /**
   * The server drops a client that reads nothing of its answer or events for this time, in milliseconds. Default
   * 30,000.
   */
  slowReaderMs?: Duration | undefined
  /**
   * The approximate maximum memory, in bytes, for bodies that are arriving and for answers and events that are not
   * read. Beyond it, the server drops, of the tenant that holds most, the clients that have been slow for the longest
   * time. Default 256 MiB.
   */
  maxBufferedBytes?: ByteSize | undefined
  /**
   * The Cache-Control of data that does not change: `public`, `private` or `no-store`. An answer to a request with
   * credentials is never `public`. Default `public`; with `authorize`, `private`.
   */
  cache?: 'public' | 'private' | 'no-store' | undefined
  /** Called after each request. */
  onRequest?: ((report: RequestReport) => void) | undefined
  /**
   * Called with the cause of each answer with status 500, for example an error of `authorize`, with the first error of
   * the device since the last successful change, and with errors of `onRequest`. Default: emits a process warning.
   */
  onError?: ((error: unknown) => void) | undefined
}

/**
 * A certificate and its private key, both in PEM. The certificate may be followed by those of its issuers. The key must
 * not be encrypted.
 */
export interface TlsOptions {
  cert: string | Buffer
  key: string | Buffer
}

export interface ServerOptions extends HandlerOptions {
  /** The address to listen on. Default `127.0.0.1`. */
  host?: string | undefined
  /** The port to listen on; 0 chooses a free one. Default 4437, the port of the protocol. */
  port?: number | undefined
  /** Serve HTTPS with this certificate. Default: HTTP. */
  tls?: TlsOptions | undefined
  /** The maximum number of open connections; others are closed at once. Default 25,000. */
  maxConnections?: number | undefined
  /** Serve a page at the path `prefix` that shows the streams. Default false. */
  ui?: boolean | undefined
}

export interface LogServerOptions extends Omit<ServerOptions, 'readOnly'> {
  /**
   * The media type of the log's records. With `application/json`, each record is one JSON value. Default
   * `application/octet-stream`.
   */
  contentType?: string | undefined
}

/** A running server of streams. */
export interface StreamsServer extends AsyncDisposable {
  /** The URL of the server; of `serveLog`, the URL of the stream. */
  readonly url: string
  /**
   * Uses another certificate for new connections. Throws ERR_DURLOG_INVALID_ARGUMENT, and keeps the earlier
   * certificate, if the key does not belong to the certificate or if the server does not serve HTTPS.
   */
  setTls(tls: TlsOptions): void
  /**
   * Closes the server: ends live reads with a control event, finishes other requests, and closes each connection after
   * its next answer. After half a second without one, closes the others and refuses new ones. Settles within 5 seconds.
   * The streams stay open.
   */
  close(): Promise<void>
}

/**
 * Serves streams by the Durable Streams protocol. Call it with a request of `node:http`, or call `fetch`. As middleware
 * of Express it gets `next`, which it calls for requests outside `prefix` and for streams that do not exist. If it is
 * mounted under a path, `prefix` is the part of the path after that.
 */
export interface StreamsHandler {
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void
  /** Answers a request of the Fetch API, for Hono, Next.js, Bun and Deno. */
  fetch(request: Request): Promise<Response>
  /** Returns false while appends fail because of the device, and after the streams or the handler were closed. */
  isHealthy(): boolean
  /** Returns the metrics in the text format of Prometheus. */
  metrics(): Promise<string>
  /**
   * Ends live reads with a control event, and answers later requests with 503. Settles when all requests in progress
   * have been answered. Drops the clients that need more than 4 s, or `slowReaderMs` if that is less, to send a request
   * or to read an answer.
   */
  close(): Promise<void>
}
