/** durlog/http: streams over HTTP, by the Durable Streams protocol. docs/SERVE.md describes it. */
export { streamsHandler } from './handler.js'
export { serveLog } from './served-log.js'
export { serveStreams } from './server.js'
export type * from './types.js'
