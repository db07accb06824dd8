// Outbox, consumer: sends each message, then commits it. After a crash it continues with the first message that was not
// committed, so the last one may be sent twice.
//
//   node outbox-consumer.mjs [DIR]
import { open } from 'durlog'

const [dir = './outbox'] = process.argv.slice(2)
if (dir.startsWith('-')) {
  console.error('usage: node outbox-consumer.mjs [DIR]')
  process.exit(64)
}
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())

async function send({ text }) {
  console.log(`sent ${text}`) // replace by a request to another service
}

const outbox = await open(dir, { readOnly: true, encoding: 'json' })
const mailer = await outbox.cursor('mailer', { waitMs: 10_000 }) // a predecessor may still be shutting down
try {
  for await (const { seq, value } of mailer.read({ follow: true, durableOnly: true, signal: stop.signal })) {
    await send(value)
    await mailer.commit(seq, { durability: 'sync' })
  }
} catch (error) {
  if (!stop.signal.aborted) throw error
} finally {
  await mailer.close()
  await outbox.close()
}
