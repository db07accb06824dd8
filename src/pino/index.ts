/** durlog/pino: what pino logs as records of a log, by a worker thread or in the same one. */
export { destination, type LogDestination, type LogDestinationEvents } from './destination.js'
export type { PinoLogOptions } from './options.js'
export { transport, transport as default } from './transport.js'
