// life.mjs <number> close|kill: a log that is archived in a store outside of the disk under trial. Appends at every
// level, and closes the log or dies. Only records that the store has received are noted as synced: the archive must
// never hold a record that the log lacks after a cut. Archived records may be trimmed.
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { archive } from '../../../../dist/archive/index.js'
import { open } from '../../../../dist/index.js'
import { FakeS3 } from '../../../fixtures/fake-s3.mjs'
import { openOptions } from '../combinations.mjs'
import { contentOf } from '../content.mjs'
import { note } from '../notes.mjs'
import { between, pick, seededRandom } from '../random.mjs'

const STEPS = 12
const KIB = 1024
const LEVELS = ['memory', 'async', 'sync', 'full']
const RECORDS = /\/(log|tail)\/\d{20}$/

const seed = Number(process.env.POWERCUT_SEED)
const life = Number(process.argv[2])
const random = seededRandom(seed, life, 5)

// The store is kept between the lives of a workload.
const store = await new FakeS3(join(tmpdir(), `store-${process.ppid}`)).start()
store.fault = ({ method, key, headers }) => {
  if (method !== 'PUT' || !RECORDS.test(key)) return
  const last = Number(headers['x-amz-meta-durlog-last'])
  note(`a ${last} sync`, `r ${last + 1}`)
}

const log = await open(join(process.env.POWERCUT_DIR, 'log'), openOptions(seed, life))
note(`o ${log.nextSeq} ${log.uuid}`)
let ending = false
const onFailure = (error) => {
  if (!ending) throw error
}
const archiver = archive(log, {
  ...store.access,
  flushMs: between(random, 1, 20),
  keepAfterAck: { maxBytes: 256 * KIB },
})
archiver.on('error', onFailure)
archiver.on('retry', ({ error }) => onFailure(error))

let nextSeq = log.nextSeq
let nextId = 1 + life * 1_000_000
const waiting = new Set()

function append() {
  const count = random() < 0.15 ? between(random, 2, 6) : 1
  const lengths = Array.from({ length: count }, () => between(random, 8, random() < 0.3 ? 9 * KIB : 2 * KIB))
  note(`i ${nextSeq} ${nextId} ${lengths.join(' ')}`)
  const payloads = lengths.map((length, i) => contentOf(seed, nextId + i, length))
  nextSeq += count
  nextId += count
  const appended = log.appendBatch(payloads, { durability: pick(random, LEVELS) })
  waiting.add(appended)
  void appended.then(() => waiting.delete(appended))
}

for (let step = 0; step < STEPS; ++step) {
  for (let i = between(random, 1, 8); i > 0; --i) append()
  if (random() < 0.3) await archiver.idle()
  if (random() < 0.4) await Promise.all(waiting)
}
ending = true
if (process.argv[3] === 'kill') {
  append()
  await new Promise((resolve) => setTimeout(resolve, random() * 3))
  process.kill(process.pid, 'SIGKILL')
}
await Promise.all(waiting)
await archiver.close()
await log.close()
await store.stop()
