/** durlog/http: serves streams over HTTP, by the Durable Streams protocol. See docs/SERVE.md. */
export { streamsHandler } from './handler.js'
export { serveLog } from './served-log.js'
export { serveStreams } from './server.js'
export type * from './types.js'
