// Appends to a log in every way until it is killed, and prints each acknowledgement as a line to stdout before it does
// anything else:
//   o NEXT FIRST      opened
//   a FIRST LAST GEN  records FIRST to LAST of generation GEN are acknowledged
//   T SEQ / t FIRST   a trim was requested / has been acknowledged
//   C SEQ / c SEQ     a cut after SEQ was requested / has been acknowledged
//   n                 the cut was refused, and no record was cut
import { open } from '../../dist/index.js'
import { say } from '../fixtures/say.mjs'
import { payloadOf, randomFrom } from './payload.mjs'

const LEVELS = ['memory', 'async', 'sync', 'full']
const { dir, seed, options, generation: firstGeneration } = JSON.parse(process.argv[2])
const random = randomFrom(seed)
const upTo = (most) => Math.floor(random() * most)

say('s')
const log = await open(dir, options)
say(`o ${log.nextSeq} ${log.firstSeq}`)

let next = log.nextSeq
let generation = firstGeneration
let pending = []

const level = () => (random() < 0.8 ? options.durability : LEVELS[upTo(4)])

function append() {
  const seq = next++
  const at = generation
  const payload = payloadOf(seq, at, seq, seq)
  pending.push(log.append(payload, { durability: level() }).then((acked) => say(`a ${acked} ${acked} ${at}`)))
}

function appendBatch() {
  const first = next
  const last = first + upTo(12)
  const at = generation
  next = last + 1
  const list = []
  for (let seq = first; seq <= last; seq++) list.push(payloadOf(seq, at, first, last))
  pending.push(
    log.appendBatch(list, { durability: level() }).then((acked) => say(`a ${acked.first} ${acked.last} ${at}`)),
  )
}

/** `write` and `appendSync` throw if there is no room; then the record has no place yet. */
async function appendNow(call) {
  try {
    const seq = call(payloadOf(next, generation, next, next))
    say(`a ${seq} ${seq} ${generation}`)
    next++
  } catch (error) {
    if (error.code !== 'ERR_DURLOG_BACKPRESSURE') throw error
    await log.drain()
  }
}

async function trim() {
  const seq = Math.max(log.firstSeq, next - upTo(200))
  say(`T ${seq}`)
  pending.push(log.trimBefore(seq).then((first) => say(`t ${first}`)))
}

async function cut() {
  await settle()
  if (next === log.firstSeq) return
  const seq = Math.max(log.firstSeq, next - 1 - upTo(20))
  say(`C ${seq}`)
  try {
    await log.truncateAfter(seq)
  } catch (error) {
    // A cut in the middle of a batch.
    if (error.code !== 'ERR_DURLOG_INVALID_ARGUMENT') throw error
    say('n')
    return
  }
  say(`c ${seq}`)
  next = seq + 1
  generation++
}

async function settle() {
  const all = pending
  pending = []
  await Promise.all(all)
}

async function step() {
  const kind = random()
  if (kind < 0.55) for (let count = 1 + upTo(8); count > 0; count--) append()
  else if (kind < 0.7) appendBatch()
  else if (kind < 0.82) await appendNow((payload) => log.write(payload))
  else if (kind < 0.9) await appendNow((payload) => log.appendSync(payload, { durability: level() }))
  else if (kind < 0.94) pending.push(log.sync(level()))
  else if (kind < 0.985) await trim()
  else await cut()
  if (random() < 0.4 || pending.length > 64) await settle()
}

for (;;) await step()
