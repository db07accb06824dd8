/** Ships a log and restores it by a process that is killed: the copy has the same bytes and is undamaged. */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { open, verify } from 'durlog'
import { restore, ship } from 'durlog/jetstream'
import { startServer } from '../fixtures/nats.mjs'

const CHILD = fileURLToPath(new URL('../fixtures/restore-child.mjs', import.meta.url))
const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const GROUP = 1000

const seconds = (since) => Math.round((performance.now() - since) / 100) / 10

/** The SHA-256 of the output of `durlog cat`. */
function digestOf(dir) {
  const printed = execFileSync(process.execPath, [MAIN, 'cat', dir], { maxBuffer: 2 ** 31 })
  return createHash('sha256').update(printed).digest('hex')
}

async function fill(log, records) {
  for (let from = 0; from < records; from += GROUP) {
    const group = Array.from({ length: Math.min(GROUP, records - from) }, (_, i) =>
      `record ${from + i} `.padEnd(20 + ((from + i) % 160), 'x'),
    )
    log.writeBatch(group)
    await log.drain()
    // The records get several different times.
    if (from % (50 * GROUP) === 0) await log.sync()
  }
  await log.sync()
}

async function restoreAndKill(dir, options, stopAt) {
  const child = spawn(process.execPath, [CHILD, dir, JSON.stringify(options), String(stopAt)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout.once('data', () => child.kill('SIGKILL'))
  const [, signal] = await once(child, 'close')
  if (signal !== 'SIGKILL') throw new Error('the restore ended before it was killed')
}

/** Rejects with the failure. */
export async function runRestoreTrial(dir, records) {
  const server = await startServer(dir)
  try {
    const source = join(dir, 'source')
    const log = await open(source)
    await fill(log, records)
    const place = { servers: server.url, stream: 'RESTORE', subject: 'restore' }
    const shipping = performance.now()
    const shipper = ship(log, place)
    await shipper.idle()
    const shippedIn = seconds(shipping)
    await shipper.close()
    await log.close()
    const copy = join(dir, 'copy')
    const restoring = performance.now()
    const report = await restore(copy, place)
    const restoredIn = seconds(restoring)
    const killed = join(dir, 'killed')
    for (const share of [0.1, 0.5, 0.9]) await restoreAndKill(killed, place, Math.floor(records * share))
    await restore(killed, place)
    const digests = [source, copy, killed].map(digestOf)
    if (new Set(digests).size !== 1) throw new Error(`the logs print different bytes: ${digests.join(', ')}`)
    for (const folder of [copy, killed]) {
      const { state, records: found } = await verify(folder)
      if (state !== 'clean' || found !== records) throw new Error(`${folder} is ${state}, with ${found} records`)
    }
    return { records: report.records, shippedIn, restoredIn, sha256: digests[0] }
  } finally {
    await server.kill()
  }
}
