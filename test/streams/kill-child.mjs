// Makes all kinds of calls that change streams until it is killed, or kills itself at a step of a checkpoint. Prints a
// line for each event, at once:
//   o                 opened
//   a N STREAM SEQ    append number N is acknowledged
//   r N               append number N was refused
//   q STREAM Q SEQ    append Q of the stream's producer is acknowledged, or was already stored
//   D N STREAM        a deletion is requested; d N STREAM: it is acknowledged
//   e N STREAM        an end is acknowledged
//   f STREAM SEQ      a stream with retention begins at SEQ: earlier records were removed
//   v TEXT            a guarantee was violated
import { openExclusive } from '../../dist/streams/api/open-streams.js'
import { randomFrom } from '../crash/payload.mjs'
import { say } from '../fixtures/say.mjs'
import { ledgerValue, RETAINED, trialValue } from './trial-values.mjs'

const { dir, seed, options, firstNumber, ledgers, dieAtStep } = JSON.parse(process.argv[2])
const random = randomFrom(seed)
const upTo = (most) => Math.floor(random() * most)
const PAIRS = ['pair/0', 'pair/1', 'Pair/1']
const TEMPORARY = ['temporary 0', 'temporary 1']
const NAMES = [...PAIRS, ...TEMPORARY, ...Object.keys(RETAINED)]
const REFUSALS = [
  'ERR_DURLOG_SEQ_CONFLICT',
  'ERR_DURLOG_STREAM_ENDED',
  'ERR_DURLOG_NOT_FOUND',
  'ERR_DURLOG_STREAM_EXISTS',
]

let steps = 0
function onStep() {
  if (++steps === dieAtStep) process.kill(process.pid, 'SIGKILL')
}
/** The number of steps that a job of the core makes before this process kills itself. */
function stepLimit() {
  return dieAtStep === -1 ? Number.POSITIVE_INFINITY : Math.max(dieAtStep - steps - 1, 0)
}

const streams = await openExclusive(dir, options, { onStep, stepLimit, logSegmentBytes: 4 << 20 })
say('o')
for (const change of streams.changes) say(`v another program changed ${JSON.stringify(change)}`)
streams.on('changed', (change) => say(`v another program changed ${JSON.stringify(change)}`))
streams.on('checkpointFailed', (error) => say(`v a checkpoint failed: ${error.stack}`))

for (const [name, retention] of Object.entries(RETAINED)) await streams.stream(name).create({ retention })
streams.on('checkpoint', async () => {
  for (const name of Object.keys(RETAINED)) {
    const info = await streams.stream(name).info()
    say(`f ${name} ${info.firstSeq}`)
  }
})

let number = firstNumber
let pending = []
const next = new Map()

/** Waits for `work` later, and prints if it was refused. */
function later(n, work) {
  pending.push(
    work.catch((error) => {
      if (!REFUSALS.includes(error.code)) say(`v ${error.stack}`)
      say(`r ${n}`)
    }),
  )
}

function append() {
  const n = number++
  const name = NAMES[upTo(NAMES.length)]
  const conditional = random() < 0.3
  const expectedSeq = (next.get(name) ?? 0) + (random() < 0.2 ? 1 : 0)
  const done = streams.stream(name).append(trialValue(n), conditional ? { expectedSeq } : undefined)
  later(
    n,
    done.then(({ seq, duplicate }) => {
      if (duplicate) say(`v append ${n} is a duplicate`)
      if (conditional && seq !== expectedSeq) say(`v append ${n} got seq ${seq} in place of ${expectedSeq}`)
      next.set(name, seq + 1)
      say(`a ${n} ${name.replace(' ', '_')} ${seq}`)
    }),
  )
}

function appendBatch() {
  const first = number
  const count = 1 + upTo(6)
  number += count
  const items = []
  for (let n = first; n < number; n++)
    items.push({ stream: PAIRS[upTo(PAIRS.length)], value: trialValue(n, [first, count]) })
  // A batch is not stored if its last condition fails.
  if (random() < 0.2) items.at(-1).expectedSeq = 2 ** 40
  later(
    first,
    streams.appendBatch(items).then((results) => {
      for (const [at, { seq }] of results.entries()) say(`a ${first + at} ${items[at].stream} ${seq}`)
    }),
  )
}

function appendToLedger() {
  const name = Object.keys(ledgers)[upTo(Object.keys(ledgers).length)]
  const q = ledgers[name]++
  const producer = { id: 'bookkeeper', epoch: 3, seq: q }
  const stream = streams.stream(name)
  // Sometimes repeats an append, like a client that has not received the answer.
  for (let times = random() < 0.2 ? 2 : 1; times > 0; times--)
    later(
      -1,
      stream.append(ledgerValue(q), { producer }).then(({ seq }) => say(`q ${name} ${q} ${seq}`)),
    )
}

function end() {
  const n = number++
  const name = TEMPORARY[upTo(2)]
  later(
    n,
    streams
      .stream(name)
      .end()
      .then(() => say(`e ${n} ${name.replace(' ', '_')}`)),
  )
}

function remove() {
  const n = number++
  const name = TEMPORARY[upTo(2)]
  next.delete(name)
  say(`D ${n} ${name.replace(' ', '_')}`)
  later(
    n,
    streams
      .stream(name)
      .delete()
      .then(() => say(`d ${n} ${name.replace(' ', '_')}`)),
  )
}

/**
 * Creates a temporary stream with several files. It may exist already, or be deleted and created again without
 * retention.
 */
function create() {
  const name = TEMPORARY[upTo(2)]
  later(-1, streams.stream(name).create({ retention: { maxRecords: 30 } }))
}

async function settle() {
  const all = pending
  pending = []
  await Promise.all(all)
}

async function step() {
  const kind = random()
  if (kind < 0.5) for (let count = 1 + upTo(8); count > 0; count--) append()
  else if (kind < 0.65) appendBatch()
  else if (kind < 0.85) appendToLedger()
  else if (kind < 0.88) end()
  else if (kind < 0.94) remove()
  else if (kind < 0.96) create()
  else void streams.checkpoint().catch(() => {})
  if (random() < 0.4 || pending.length > 64) await settle()
}

for (;;) await step()
