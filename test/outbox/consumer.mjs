// Follows the outbox by its cursor: says where it begins (f), each order (s) and each commit that was acknowledged at
// sync (c). Ends with its stdin, once it has read all there is; runs from the built package.
import { open } from '../../dist/index.js'
import { say } from '../fixtures/say.mjs'
import { orderOf } from './order.mjs'

const SYNC_EVERY = 10

const log = await open(process.argv[2], { readOnly: true, encoding: 'json' })
const mailer = await log.cursor('mailer', { waitMs: 60_000 })
say(`f${mailer.position}`)

async function take({ seq, value }) {
  if (JSON.stringify(value) !== JSON.stringify(orderOf(seq)))
    throw new Error(`order ${seq} is ${JSON.stringify(value)}`)
  say(`s${seq}`)
  if (seq % SYNC_EVERY !== 0) return mailer.commit(seq)
  await mailer.commit(seq, { durability: 'sync' })
  say(`c${seq}`)
}

const ending = new AbortController()
process.stdin.on('end', () => ending.abort())
process.stdin.resume()
try {
  for await (const record of mailer.read({ follow: true, signal: ending.signal })) await take(record)
} catch (error) {
  if (!ending.signal.aborted) throw error
}
for await (const record of mailer.read()) await take(record)
await log.close()
