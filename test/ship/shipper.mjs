/** Ships a log that another process writes, and prints its progress. */
import { open } from 'durlog'
import { ship } from 'durlog/jetstream'
import { say } from '../fixtures/say.mjs'

const [dir, options] = process.argv.slice(2)
const log = await open(dir, { readOnly: true })
const shipper = ship(log, JSON.parse(options))
let told = 0
shipper.on('shipped', (seq) => {
  if (performance.now() - told < 20) return
  told = performance.now()
  say(`shipped ${seq}`)
})
setInterval(() => say(`shipped ${shipper.stats().shippedSeq}`), 100)
shipper.on('retry', ({ error }) => say(`retry ${error.message}`))
shipper.on('error', (error) => {
  say(`stopped ${error.code} ${error.message}`)
  process.exit(1)
})
