// Ships every durable record of a log to a NATS JetStream stream, exactly once and in order. Appends do not wait for
// it.
//
//   npm install @nats-io/jetstream @nats-io/transport-node
//   node ship-to-jetstream.mjs [DIR] [nats://HOST:PORT]
import { open } from 'durlog'
import { ship } from 'durlog/jetstream'

const [dir = './orders', servers = 'nats://127.0.0.1:4222'] = process.argv.slice(2)
if (dir.startsWith('-')) {
  console.error('usage: node ship-to-jetstream.mjs [DIR] [nats://HOST:PORT]')
  process.exit(64)
}
const log = await open(dir, { waitMs: 10_000 })
const shipper = ship(log, { servers, stream: 'ORDERS', subject: 'orders.eu-1' })
shipper.on('retry', ({ error }) => console.error(`trying again: ${error.message}`))
shipper.on('error', (error) => console.error(error.code, error.message))

const seq = await log.append('order 17')
await shipper.idle() // everything durable is in the stream
console.log(`shipped ${seq}`)
await shipper.close()
await log.close()
