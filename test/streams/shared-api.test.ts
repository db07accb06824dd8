/** Repeats the tests of streams in a process that is a client of the owner. */
import { mode } from '../fixtures/streams.js'

mode.exclusive = false
await import('./appends.test.js')
await import('./reading.test.js')
await import('./options.test.js')
await import('./files.test.js')
await import('./retention.test.js')
