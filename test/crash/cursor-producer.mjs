// Appends at mixed levels and says the seqs that were acknowledged, until its stdin ends; runs from the built package.
import { open } from '../../dist/index.js'
import { say } from '../fixtures/say.mjs'

const LEVELS = ['sync', 'memory', 'sync', 'async']
const log = await open(process.argv[2], { segmentBytes: 262_144, lock: { waitMs: 60_000 } })
let ended = false
process.stdin.on('end', () => {
  ended = true
})
process.stdin.resume()
for (let i = 0; !ended; i++) {
  say(await log.append(`record ${log.nextSeq}`, { durability: LEVELS[i % LEVELS.length] }))
  await new Promise(setImmediate)
}
await log.close()
