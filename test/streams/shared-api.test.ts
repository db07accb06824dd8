/**
 * Repeats the tests of streams in a process that is a client of the owner. The tests of the owner's files and of
 * retention, which a client only asks for, are repeated with `npm run trial -- variants`.
 */
import { mode } from '../fixtures/streams.js'
import { EVERY_VARIANT } from '../fixtures/variants.js'

mode.exclusive = false
await import('./appends.test.js')
await import('./reading.test.js')
await import('./options.test.js')
if (EVERY_VARIANT) {
  await import('./files.test.js')
  await import('./retention.test.js')
}
