// npm run trial -- archive: 1,000,000 records are archived while the writer, the archivers and the store are killed 200
// times. --records N, --kills N, --store fake|versitygw|seaweedfs.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runTrial } from './trial.mjs'

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '1000000' },
    kills: { type: 'string', default: '200' },
    store: { type: 'string', default: 'fake' },
  },
})
const dir = mkdtempSync(join(tmpdir(), 'durlog-archive-'))
const started = performance.now()
const result = await runTrial(dir, {
  records: Number(values.records),
  kills: Number(values.kills),
  store: values.store,
})
console.log(
  JSON.stringify({ store: values.store, seconds: Math.round((performance.now() - started) / 1000), ...result }),
)
const { expected, found, overwritten } = result
const equal = expected.sha256 === found.sha256 && expected.records === found.records
if (!equal || overwritten.length > 0) {
  console.log(`failed; kept: ${dir}`)
  process.exitCode = 1
} else {
  rmSync(dir, { recursive: true, force: true })
}
