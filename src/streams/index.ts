/** durlog/streams: many named streams in one folder, which share one log and one sync. docs/STREAMS.md describes it. */
export { openStreams } from './open-streams.js'
export type * from './types.js'
