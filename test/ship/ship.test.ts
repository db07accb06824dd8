import { expect, test } from 'vitest'
import { missingServer } from '../fixtures/nats.mjs'
import { scratchDir } from '../fixtures/scratch.js'
import { runTrial } from './trial.mjs'

if (missingServer !== '') process.stdout.write(`skipped: ${missingServer}\n`)

test.skipIf(missingServer !== '').each([true, false])(
  'a stream holds every record once and in order, whatever is killed: server, shipper, writer (atomic batches: %s)',
  { timeout: 300_000 },
  async (atomic) => {
    const result = await runTrial(scratchDir(), { records: 3000, kills: 2, servers: 1, atomic })
    expect(result).toMatchObject({ records: 3000, writers: 3, shippers: 3 })
  },
)
