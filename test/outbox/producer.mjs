// Appends orders at sync to a log with retention, and waits while the consumer is far behind. Says each seq that was
// acknowledged (s) and each overrun (o), until its stdin ends; runs from the built package.
import { open } from '../../dist/index.js'
import { say } from '../fixtures/say.mjs'
import { MAX_BYTES, MAX_LAG_RECORDS, orderOf, SEGMENT_BYTES } from './order.mjs'

const log = await open(process.argv[2], {
  segmentBytes: SEGMENT_BYTES,
  retention: { maxBytes: MAX_BYTES, maxAgeMs: 1000 },
  encoding: 'json',
  waitMs: 60_000,
})
log.on('overrun', (overrun) => say(`o${JSON.stringify(overrun)}`))
let ended = false
process.stdin.on('end', () => {
  ended = true
})
process.stdin.resume()

async function lag() {
  const mailer = (await log.cursors()).find(({ name }) => name === 'mailer')
  return mailer === undefined ? log.nextSeq : mailer.lagRecords
}

while (!ended) {
  while (!ended && (await lag()) > MAX_LAG_RECORDS) await new Promise((resolve) => setTimeout(resolve, 1))
  for (let i = 0; i < 10 && !ended; i++) {
    const seq = log.nextSeq
    say(`s${await log.append(orderOf(seq), { expectedSeq: seq })}`)
  }
}
await log.close()
