// Outbox in a cluster: four processes append to one shared log (Linux). Each message has its own seq, in one order.
//
//   node cluster-outbox.mjs [DIR]
import cluster from 'node:cluster'
import { open } from 'durlog'

const [dir = './outbox'] = process.argv.slice(2)
if (dir.startsWith('-')) {
  console.error('usage: node cluster-outbox.mjs [DIR]')
  process.exit(64)
}
const PROCESSES = 4
const MESSAGES = 100

if (cluster.isPrimary) {
  for (let i = 0; i < PROCESSES; i += 1) cluster.fork()
  let running = PROCESSES
  cluster.on('exit', async () => {
    running -= 1
    if (running > 0) return
    const log = await open(dir, { readOnly: true })
    console.log(`${log.nextSeq} messages from ${PROCESSES} processes`)
    await log.close()
  })
} else {
  const outbox = await open(dir, { shared: true, encoding: 'json' })
  const appends = Array.from({ length: MESSAGES }, (_, i) => outbox.append({ from: process.pid, number: i }))
  await Promise.all(appends)
  await outbox.close()
  cluster.worker.disconnect()
}
