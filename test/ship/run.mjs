// npm run test:ship: 200,000 records to a cluster of three, while everything is killed. --records N, --kills N, --servers 1|3, --single.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { missingServer } from '../fixtures/nats.mjs'
import { runTrial } from './trial.mjs'

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '200000' },
    kills: { type: 'string', default: '10' },
    servers: { type: 'string', default: '3' },
    single: { type: 'boolean', default: false },
  },
})

if (missingServer !== '') {
  console.log(`skipped: ${missingServer}`)
} else {
  const dir = mkdtempSync(join(tmpdir(), 'durlog-ship-'))
  const started = performance.now()
  try {
    const options = { records: Number(values.records), kills: Number(values.kills), servers: Number(values.servers) }
    const result = await runTrial(dir, { ...options, atomic: !values.single })
    console.log(
      `the stream holds exactly what the log holds, in ${Math.round((performance.now() - started) / 1000)} s:`,
      result,
    )
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
