// Abandons readers, with the built package and --expose-gc. Arguments: the folder, whether it is exclusive. Prints the
// number of their descriptors that are still open, and the number of warnings.
import { readdirSync } from 'node:fs'
import { openStreams } from '../../dist/streams/index.js'

const READERS = 200
const turn = () => new Promise((resolve) => setImmediate(resolve))
const descriptors = () => readdirSync('/proc/self/fd').length
let warnings = 0
process.on('warning', () => warnings++)

const streams = await openStreams(process.argv[2], { exclusive: process.argv[3] === 'true', checkpointMs: 3_600_000 })
const stream = streams.stream('s')
// More records than are read at once or ahead.
for (let i = 0; i < 10; i++) await stream.appendAll(Array(1000).fill('x'.repeat(500)))
await streams.checkpoint()
const before = descriptors()
for (let i = 0; i < READERS; i++) await stream.read().next()
for (let i = 0; i < 2000 && descriptors() > before; i++) {
  gc()
  await turn()
}
// A descriptor that the owner's thread had open for a moment before is none of theirs.
console.log(Math.max(0, descriptors() - before), warnings)
await streams.close()
