// npm run trial -- ship: 200,000 records to a cluster of three, while all processes are killed. --records N, --kills N,
// --servers 1|3, --single. --silence SECONDS: servers that are stopped, silent or dead for that long.
// --restore N: that many records shipped and restored. --outage SECONDS: appends while the servers are down, and
// catching up.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { missingServer } from '../fixtures/nats.mjs'
import { runOutageTrial } from './outage-trial.mjs'
import { runRestoreTrial } from './restore-trial.mjs'
import { runSilenceTrial } from './silence-trial.mjs'
import { runTrial } from './trial.mjs'

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '200000' },
    kills: { type: 'string', default: '10' },
    servers: { type: 'string', default: '3' },
    restore: { type: 'string' },
    outage: { type: 'string' },
    silence: { type: 'string' },
    single: { type: 'boolean', default: false },
  },
})

function run(dir) {
  if (values.restore !== undefined) return runRestoreTrial(dir, Number(values.restore))
  if (values.silence !== undefined) return runSilenceTrial(dir, Number(values.silence))
  if (values.outage !== undefined) return runOutageTrial(dir, Number(values.outage), Number(values.servers))
  const { records, kills, servers } = values
  const options = { records: Number(records), kills: Number(kills), servers: Number(servers) }
  return runTrial(dir, { ...options, atomic: !values.single })
}

if (missingServer !== '') {
  console.log(`skipped: ${missingServer}`)
} else {
  const dir = mkdtempSync(join(tmpdir(), 'durlog-ship-'))
  const started = performance.now()
  try {
    const result = await run(dir)
    console.log(`passed in ${Math.round((performance.now() - started) / 1000)} s:`, result)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
