/** durlog/pino: what pino logs as records of a log, by a worker thread or in the same one. scripts/finish-dist.mjs writes the subpath. */
export { destination, type LogDestination, type LogDestinationEvents } from './destination.js'
export type { PinoLogOptions } from './options.js'
export { transport } from './transport.js'
