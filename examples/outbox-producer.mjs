// Outbox, producer: stores each line of its input as a message. The consumer may run at the same time, later, or in
// several attempts; every message is sent at least once and in order.
//
//   node outbox-producer.mjs [DIR] < messages.txt
import { createInterface } from 'node:readline'
import { open } from 'durlog'

const [dir = './outbox'] = process.argv.slice(2)
if (dir.startsWith('-')) {
  console.error('usage: node outbox-producer.mjs [DIR] < messages.txt')
  process.exit(64)
}
const retention = { maxBytes: 2e9, maxAgeMs: 60_000 }
// Waits, because a predecessor may still be shutting down.
const outbox = await open(dir, { encoding: 'json', retention, waitMs: 10_000 })
outbox.on('overrun', ({ lostFirst, lostLast }) => console.error(`messages ${lostFirst} to ${lostLast} were not sent`))
await outbox.ensureCursor('mailer') // from now on, messages are kept until the consumer has passed them

for await (const text of createInterface({ input: process.stdin })) {
  const seq = await outbox.append({ text }) // settles when the message is on the device
  console.log(`stored ${seq}`)
}
await outbox.close()
