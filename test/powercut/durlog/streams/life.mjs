// life.mjs <number> close|kill: appends to streams, makes checkpoints, deletes streams, and closes the folder or dies.
// Notes:
//
//   i <n> <stream>            before an append of value n; <n> <stream> pairs in one note are an atomic batch
//   D <stream>                before a deletion
//   o                         the folder is open, so it is decided whether an operation in flight before it was stored
//   s <stream> <exists>       after `o`, if a deletion of the stream was in flight: whether the stream exists
//   a <n> <stream> <seq>      the append is acknowledged
//   d <stream>                the deletion is acknowledged
//   p <n> <epoch> <seq>       with `i`: the append has this producer
//   E <stream>                before the end of a stream
//   e <stream>                the end is acknowledged
//   f <seq>                   the stream with retention begins at this seq: earlier records were removed
import process from 'node:process'
import { note } from '../notes.mjs'
import { between, pick, seededRandom } from '../random.mjs'
import {
  appendedValue,
  append as appendTo,
  BYTES,
  describe,
  KEPT,
  KEPT_RECORDS,
  LEDGER,
  openFolder,
  producerOf,
} from './folder.mjs'

const STEPS = 26
const FEW = ['a', 'b', 'session/1', 'Session/1']
/** With more than 32 changed streams a checkpoint syncs the file system, and otherwise each file. */
const MANY = Array.from({ length: 40 }, (_, i) => `many-${i}`)
const TEMPORARY = ['t0', 't1', 't2']
/** A step in which this life ends a stream. */
const END_AT = 10

const seed = Number(process.env.POWERCUT_SEED)
const life = Number(process.argv[2])
const random = seededRandom(seed, life, 2)
/** Ends the workload with an error, unless the writer is broken: that may damage the folder without a power cut. */
function end(error) {
  if (process.env.POWERCUT_BREAK === undefined) {
    console.error(error)
    process.exit(1)
  }
  if (process.argv[3] === 'close') process.exit(0)
  process.kill(process.pid, 'SIGKILL')
}

const endChanged = (changes) => end(new Error(`a false report of changes: ${describe(changes)}`))

const streams = await openFolder(process.env.POWERCUT_DIR, { seed, life }).catch(end)
note('o')
for (const name of TEMPORARY) note(`s ${name} ${(await streams.stream(name).info()) === undefined ? 0 : 1}`)
// Reported by the checkpoint that openStreams has made.
if (streams.changes.length > 0) endChanged(streams.changes)
streams.on('checkpointFailed', end)
streams.on('changed', (change) => endChanged([change]))
await streams.stream(KEPT).create({ retention: { maxRecords: KEPT_RECORDS } })
await streams.stream(BYTES).create({ encoding: 'buffer' })
// The last checkpoint is made by close.
streams.on('checkpoint', () => {
  const noted = streams.stream(KEPT).info()
  noted.then(({ firstSeq }) => note(`f ${firstSeq}`)).catch(() => {})
})

let n = 1 + life * 1_000_000
/** The producer's next seq. */
let produced = 0
let pending = []

function append(name) {
  const id = n++
  note(`i ${id} ${name}`)
  const done = appendTo(streams, seed, id, name)
  pending.push(done.then(({ seq }) => note(`a ${id} ${name} ${seq}`)))
}

/** Appends as the producer; sometimes twice, as a client that has not received the answer. */
function produce() {
  const id = n++
  const producer = producerOf(life, produced++)
  note(`i ${id} ${LEDGER}`, `p ${id} ${life} ${producer.seq}`)
  for (let times = random() < 0.3 ? 2 : 1; times > 0; --times) {
    const done = appendTo(streams, seed, id, LEDGER, { producer })
    pending.push(done.then(({ seq }) => note(`a ${id} ${LEDGER} ${seq}`)))
  }
}

function endStream() {
  const name = `end-${life}`
  append(name)
  note(`E ${name}`)
  const done = streams.stream(name).end()
  pending.push(done.then(() => note(`e ${name}`)))
}

function appendBatch() {
  const items = Array.from({ length: between(random, 2, 5) }, () => ({ stream: pick(random, FEW), id: n++ }))
  note(`i ${items.map(({ stream, id }) => `${id} ${stream}`).join(' ')}`)
  const done = streams.appendBatch(items.map(({ stream, id }) => ({ stream, value: appendedValue(seed, id) })))
  pending.push(
    done.then((results) => note(...results.map(({ seq }, at) => `a ${items[at].id} ${items[at].stream} ${seq}`))),
  )
}

async function settle() {
  const all = pending
  pending = []
  await Promise.all(all)
}

async function remove(name) {
  await settle()
  note(`D ${name}`)
  await streams.stream(name).delete()
  note(`d ${name}`)
}

for (let step = 0; step < STEPS; ++step) {
  const kind = random()
  if (step === END_AT) endStream()
  for (let count = between(random, 0, 2); count > 0; --count) produce()
  if (kind < 0.35)
    for (let count = between(random, 1, 12); count > 0; --count)
      append(pick(random, [...FEW, ...TEMPORARY, KEPT, KEPT, KEPT, BYTES]))
  else if (kind < 0.45) for (const name of MANY) append(name)
  else if (kind < 0.6) appendBatch()
  else if (kind < 0.7) await remove(pick(random, TEMPORARY))
  else if (kind < 0.9) void streams.checkpoint().catch(() => {})
  else await streams.checkpoint()
  if (random() < 0.5) await settle()
}

if (process.argv[3] === 'close') {
  await settle()
  await streams.close()
} else {
  if (random() < 0.5) void streams.checkpoint().catch(() => {})
  else void streams.close()
  setImmediate(() => process.kill(process.pid, 'SIGKILL'))
}
