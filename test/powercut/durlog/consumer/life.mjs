// life.mjs <number> close|kill: a log with retention, two consumers and a shipper. Appends at every level, commits,
// trims the records that every cursor has passed, ships the synced records, and closes the log or dies.
import { join } from 'node:path'
import { open } from '../../../../dist/index.js'
import { openOptions } from '../combinations.mjs'
import { contentOf } from '../content.mjs'
import { note } from '../notes.mjs'
import { between, pick, seededRandom } from '../random.mjs'
import { LastRecord, startShipping } from './destination.mjs'
import { COMMIT_LEVELS, CURSORS, RETENTION, timeOf } from './log.mjs'

const STEPS = 26
const KIB = 1024
const LEVELS = ['memory', 'async', 'sync', 'full']

const seed = Number(process.env.POWERCUT_SEED)
const life = Number(process.argv[2])
const random = seededRandom(seed, life, 4)
const options = openOptions(seed, life)

const log = await open(join(process.env.POWERCUT_DIR, 'log'), { ...options, retention: RETENTION })
note(`o ${log.nextSeq} ${log.uuid}`)
log.on('synced', (seq) => note(`a ${seq} sync`))
const cursors = new Map()
for (const name of CURSORS) {
  const cursor = await log.cursor(name)
  note(`c ${name} ${cursor.position}`)
  cursors.set(name, cursor)
}
const last = new LastRecord()
let ending = false
const onFailure = (error) => {
  if (!ending) throw error
}
const shipped = (record) => last.write(record)
const shipper = startShipping(log, life === 0 || !last.exists ? [] : [last.read()], shipped, onFailure)

let nextSeq = log.nextSeq
let nextId = 1 + life * 1_000_000
const waiting = new Set()

function track(promise) {
  waiting.add(promise)
  promise.then(() => waiting.delete(promise))
}

function append() {
  const count = random() < 0.15 ? between(random, 2, 6) : 1
  const lengths = Array.from({ length: count }, () => between(random, 8, random() < 0.3 ? 9 * KIB : 2 * KIB))
  note(`i ${nextSeq} ${nextId} ${lengths.join(' ')}`)
  const payloads = lengths.map((length, i) => contentOf(seed, nextId + i, length))
  const first = nextSeq
  const durability = pick(random, LEVELS)
  nextSeq += count
  nextId += count
  track(
    log.appendBatch(payloads, { durability, timestamp: timeOf(first) }).then((range) => {
      if (range.first !== first) throw new Error(`seq ${range.first} was assigned, but ${first} was next`)
      note(`a ${range.last} ${durability}`)
    }),
  )
}

async function commit() {
  const name = pick(random, CURSORS)
  const cursor = cursors.get(name)
  await Promise.all(waiting)
  if (cursor.position >= nextSeq) return
  const seq = random() < 0.4 ? nextSeq - 1 : between(random, cursor.position, nextSeq - 1)
  const durability = pick(random, COMMIT_LEVELS[name])
  note(`k ${name} ${seq + 1}`)
  await cursor.commit(seq, { durability })
  note(`K ${name} ${seq + 1} ${durability}`)
}

/** Every record is old enough to be removed: only cursors hold it. */
async function retain() {
  note(`R ${await log.applyRetention()}`)
}

async function step() {
  for (let i = between(random, 1, 8); i > 0; --i) append()
  if (random() < 0.3) track(log.sync().then((seq) => seq >= 0 && note(`a ${seq} sync`)))
  if (random() < 0.2) await shipper.idle()
  const changes = []
  if (random() < 0.8) changes.push(commit())
  if (random() < 0.7) changes.push(retain())
  // Concurrently, like a consumer and the retention timer.
  await Promise.all(changes)
  if (random() < 0.4) await Promise.all(waiting)
}

for (let i = 0; i < STEPS; ++i) await step()
ending = true
if (process.argv[3] === 'kill') {
  append()
  if (random() < 0.5) void log.close()
  await new Promise((resolve) => setTimeout(resolve, random() * 3))
  process.kill(process.pid, 'SIGKILL')
}
await Promise.all(waiting)
if (random() < 0.5) await shipper.idle()
await shipper.close()
await log.close()
if (nextSeq > 0) note(`a ${nextSeq - 1} sync`)
