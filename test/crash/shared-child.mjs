// One of several writers that are killed: appends at all levels until then, and prints a line "first last name counter"
// for each acknowledgement.
import { writeSync } from 'node:fs'
import { open } from '../../dist/index.js'
import { randomFrom } from './payload.mjs'

const [dir, name, seed] = process.argv.slice(2)
const random = randomFrom(Number(seed))
const LEVELS = ['memory', 'memory', 'sync', 'async', 'full']
const say = (line) => writeSync(1, `${line}\n`)

const log = await open(dir, { shared: true, segmentBytes: 65_536 })
say('open')
let counter = 0
// Some are killed in the middle of a store, or of a rotation, more often than others.
const fillerBytes = random() < 0.3 ? 30_000 : 900

async function lane() {
  for (;;) {
    // Appends no faster than the parent can compare.
    if (random() < 0.9) await new Promise((resolve) => setTimeout(resolve, random() * 10))
    const durability = LEVELS[Math.floor(random() * LEVELS.length)]
    const first = counter
    if (random() < 0.2) {
      const filler = 'y'.repeat(fillerBytes / 10)
      const list = Array.from({ length: 1 + Math.floor(random() * 6) }, () => `${name} ${counter++} ${filler}`)
      const range = await log.appendBatch(list, { durability })
      say(`${range.first} ${range.last} ${name} ${first}`)
    } else {
      const seq = await log.append(`${name} ${counter++} ${'y'.repeat(Math.floor(random() * fillerBytes))}`, {
        durability,
      })
      say(`${seq} ${seq} ${name} ${first}`)
    }
  }
}
await Promise.all(Array.from({ length: 1 + Math.floor(random() * 16) }, lane))
