/**
 * durlog/streams: many named streams in one folder. They share one log, so one sync serves all of them. See
 * docs/STREAMS.md.
 */
export { openStreams } from './api/open-streams.js'
export type * from './port/types.js'
