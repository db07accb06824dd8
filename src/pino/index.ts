/**
 * durlog/pino: stores the lines of pino as records of a log, in pino's worker thread (`transport`) or in the caller's
 * thread (`destination`). scripts/finish-dist.mjs writes the module of the subpath.
 */
export { destination, type LogDestination, type LogDestinationEvents } from './destination.js'
export type { PinoLogOptions } from './options.js'
export { transport } from './transport.js'
