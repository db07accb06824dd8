/**
 * Appends records at `sync` up to the seqs that it reads from stdin, and prints its progress. Its records contain the
 * number of its life.
 */
import { createInterface } from 'node:readline'
import { open } from 'durlog'
import { say } from '../fixtures/say.mjs'

const [dir, life] = process.argv.slice(2)
const IN_FLIGHT = 64

const log = await open(dir, { segmentBytes: 4 * 1024 * 1024, waitMs: 60_000 })
say(`open ${log.nextSeq}`)
let target = 0
let running = false

/** 8 to 519 bytes, different in each life of the writer. */
const payload = (seq) => `${life}:${seq}:`.padEnd(8 + ((seq * 7919) % 512), 'x')

async function appendAll() {
  running = true
  while (log.nextSeq < target) {
    const appends = []
    for (let i = 0; i < IN_FLIGHT && log.nextSeq < target; i++) appends.push(log.append(payload(log.nextSeq)))
    await Promise.all(appends)
    say(`synced ${log.syncedSeq}`)
  }
  // A killed writer may have appended up to its target without saying so.
  await log.sync()
  say(`synced ${log.syncedSeq}`)
  running = false
}

function fail(error) {
  say(`refused ${error.code} ${error.message}`)
  process.exit(1)
}

createInterface({ input: process.stdin }).on('line', (line) => {
  target = Math.max(target, Number(line))
  if (!running) appendAll().catch(fail)
})
