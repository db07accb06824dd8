/**
 * The rate of the client and the servers without durlog: the same messages in conditional atomic batches, one at a
 * time.
 */
import { createInbox, headers } from '@nats-io/transport-node'

const BATCH = 1000
const UUID = '0b5fa4b1-3c41-4f0e-9a60-0d1fb7a3a001'
/** As long as the headers of a shipped record. */
const RECORD_HEADERS = {
  'Durlog-Uuid': UUID,
  'Durlog-Generation': '0',
  'Durlog-Timestamp': '1763800000000',
  'Durlog-Crc': '01234567',
}

function publishBatch(nc, subject, payload, { number, last, reply }) {
  for (let i = 1; i <= BATCH; i++) {
    const seq = String(number * BATCH + i)
    const own = headers()
    own.set('Nats-Msg-Id', `${UUID}:${seq}`)
    own.set('Durlog-Seq', seq)
    for (const [name, value] of Object.entries(RECORD_HEADERS)) own.set(name, value)
    own.set('Nats-Batch-Id', `limit-${number}`)
    own.set('Nats-Batch-Sequence', String(i))
    if (i === 1) own.set('Nats-Expected-Last-Subject-Sequence', String(last))
    if (i === BATCH) own.set('Nats-Batch-Commit', '1')
    nc.publish(subject, payload, { headers: own, ...(i === BATCH && { reply }) })
  }
}

/** Records a second, published for `ms` into the empty stream `stream`, whose subject it is. */
export async function clientLimit(nc, stream, payload, ms) {
  const inbox = createInbox()
  let answered
  const subscription = nc.subscribe(`${inbox}.*`, { callback: (_, message) => answered(message.json()) })
  const started = performance.now()
  let last = 0
  for (let number = 0; performance.now() - started < ms; number++) {
    const answer = new Promise((resolve) => {
      answered = resolve
    })
    publishBatch(nc, stream, payload, { number, last, reply: `${inbox}.${number}` })
    const { error, seq } = await answer
    if (error !== undefined) throw new Error(JSON.stringify(error))
    last = seq
  }
  subscription.unsubscribe()
  return Math.round((last * 1000) / (performance.now() - started))
}
