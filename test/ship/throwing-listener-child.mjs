// Ships records with listeners that throw; runs from the built package. Argument: the folder of the log.
import { open } from '../../dist/index.js'
import { resolveShipperOptions } from '../../dist/ship/options.js'
import { LogShipper } from '../../dist/ship/shipper.js'
import { MemoryTarget } from '../fixtures/memory-target.mjs'

const uncaught = []
process.on('uncaughtException', (error) => uncaught.push(error.message))
const log = await open(process.argv[2], { segmentBytes: 65_536 })
for (let i = 0; i < 20; i++) await log.append('x'.repeat(10_000))
const cursor = await log.cursor('ship', { from: 'first' })
await cursor.commit(2)
await cursor.close()
await log.trimBefore(12)
const { firstSeq } = log

const target = new MemoryTarget([])
const publish = target.publish.bind(target)
let failures = 1
target.publish = (...args) => (failures-- > 0 ? Promise.reject(new Error('refused once')) : publish(...args))
const shipper = new LogShipper(log, target, resolveShipperOptions(log, { skipGaps: true }))
for (const event of ['gap', 'retry', 'shipped']) {
  shipper.once(event, () => {
    throw new Error(event)
  })
}
await shipper.idle()
const { records, retries, lastError } = shipper.stats()
await shipper.close()
await log.close()
console.log(JSON.stringify({ uncaught, all: firstSeq + records === 20, retries, lastError: lastError.message }))
