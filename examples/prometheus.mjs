// Metrics of a log for Prometheus, from any process. They include the disk space, and for each cursor the number of
// records that wait, the age of the oldest of them, and whether it can read. A large age means that the consumer is
// slow or stopped.
//
//   node prometheus.mjs [DIR] [PORT]      then scrape http://localhost:PORT/metrics
import { statfs } from 'node:fs/promises'
import { createServer } from 'node:http'
import { open } from 'durlog'

const [dir = './orders', port = '9464'] = process.argv.slice(2)
if (dir.startsWith('-') || !(port >= 0)) {
  console.error('usage: node prometheus.mjs [DIR] [PORT]')
  process.exit(64)
}
const log = await open(dir, { readOnly: true })

/** The age in seconds of the oldest record that waits for a cursor at `position`; 0 if none waits. */
async function ageOf(position) {
  for await (const { timestamp } of log.read({ from: Math.max(position, log.firstSeq) }))
    return Math.max(0, (Date.now() - timestamp) / 1000)
  return 0
}

async function metrics() {
  await log.refresh()
  const space = await statfs(dir)
  const { diskBytes, segments } = log.stats()
  const lines = [
    `durlog_next_seq ${log.nextSeq}`,
    `durlog_segments ${segments}`,
    `durlog_disk_bytes ${diskBytes}`,
    `durlog_free_bytes ${space.bavail * space.bsize}`,
  ]
  for (const { name, position, state } of await log.cursors()) {
    const label = `{cursor=${JSON.stringify(name)}}`
    lines.push(`durlog_cursor_lag_records${label} ${log.nextSeq - Math.max(position, log.firstSeq)}`)
    lines.push(`durlog_cursor_lag_seconds${label} ${await ageOf(position)}`)
    lines.push(`durlog_cursor_ready${label} ${state === 'ready' ? 1 : 0}`)
  }
  return `${lines.join('\n')}\n`
}

const server = createServer(async (_, response) => {
  try {
    response.setHeader('content-type', 'text/plain; version=0.0.4').end(await metrics())
  } catch (error) {
    console.error(error.message)
    response.writeHead(500).end()
  }
})
server.listen(Number(port), () => console.log(`listening on ${server.address().port}`))
process.once('SIGTERM', () => {
  server.close(() => log.close())
  server.closeAllConnections()
})
