// Metrics for Prometheus of the process that writes a log and streams. They include the durations of syncs, failed
// appends and checkpoints, and the records that a copy lacks.
//
//   node metrics.mjs [LOG] [STREAMS] [PORT]
import { createServer } from 'node:http'
import { open } from 'durlog'
import { openStreams } from 'durlog/streams'

const [dir = './orders', folder = './sessions', port = '9465'] = process.argv.slice(2)
if (dir.startsWith('-') || !(port >= 0)) {
  console.error('usage: node metrics.mjs [LOG] [STREAMS] [PORT]')
  process.exit(64)
}
const log = await open(dir)
const streams = await openStreams(folder)
/** Objects of `ship` and `archive` with their names: [['s3', archive(log, ...)]]. */
const copies = []

const counts = { appendFailures: 0, checkpoints: 0, checkpointFailures: 0, latched: 0 }
log.on('latched', () => (counts.latched = 1))
streams.on('checkpoint', () => counts.checkpoints++)
streams.on('checkpointFailed', () => counts.checkpointFailures++)

/** Call this instead of log.append. */
export async function append(record) {
  try {
    return await log.append(record)
  } catch (error) {
    counts.appendFailures++
    throw error
  }
}

function metrics() {
  const { commitMicros, commits, pendingAppends, pendingBytes, diskBytes } = log.stats()
  const { p50, p99 } = commitMicros.lastMinute
  const lines = [
    `durlog_commits_total ${commits}`,
    `durlog_commit_seconds{quantile="0.5"} ${p50 / 1e6}`,
    `durlog_commit_seconds{quantile="0.99"} ${p99 / 1e6}`,
    `durlog_pending_appends ${pendingAppends}`,
    `durlog_pending_bytes ${pendingBytes}`,
    `durlog_disk_bytes ${diskBytes}`,
    `durlog_append_failures_total ${counts.appendFailures}`,
    `durlog_latched ${counts.latched}`,
    `durlog_checkpoints_total ${counts.checkpoints}`,
    `durlog_checkpoint_failures_total ${counts.checkpointFailures}`,
  ]
  for (const [name, copy] of copies) {
    const { lag, retries } = copy.stats()
    const label = `{to=${JSON.stringify(name)}}`
    lines.push(`durlog_copy_lag_records${label} ${lag.records}`)
    lines.push(`durlog_copy_lag_bytes${label} ${lag.bytes}`)
    lines.push(`durlog_copy_lag_seconds${label} ${lag.ms / 1000}`)
    lines.push(`durlog_copy_retries_total${label} ${retries}`)
  }
  return `${lines.join('\n')}\n`
}

await append('started')
await streams.stream('service').append({ event: 'started' })
const server = createServer((_, response) => {
  response.setHeader('content-type', 'text/plain; version=0.0.4').end(metrics())
})
server.listen(Number(port), () => console.log(`listening on ${server.address().port}`))
process.once('SIGTERM', async () => {
  server.close()
  server.closeAllConnections()
  await streams.close()
  await log.close()
})
