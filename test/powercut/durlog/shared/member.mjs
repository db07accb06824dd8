// member.mjs <number> close|kill: one of several writers of the log. It appends in every possible way, trims, and
// closes the log, or reports that it waits to be killed and continues to write.
import { join } from 'node:path'
import { open } from '../../../../dist/index.js'
import { contentOf } from '../content.mjs'
import { disturb, newestSegment, writeBackEnd } from '../kernel.mjs'
import { note } from '../notes.mjs'
import { between, pick, seededRandom } from '../random.mjs'
import { IDS_OF_A_MEMBER } from './model.mjs'
import { MAX_RECORD_BYTES, sharedOptions } from './options.mjs'

const STEPS = 9
const KIB = 1024
const LEVELS = ['memory', 'async', 'sync', 'full']

const seed = Number(process.env.POWERCUT_SEED)
const directory = process.env.POWERCUT_DIR
// A broken application that tests the verifier: it reports `sync` for records that have only reached `memory`.
const impatient = process.env.POWERCUT_IMPATIENT === '1'
const [number, ending] = [Number(process.argv[2]), process.argv[3]]
const neighbour = join(directory, `beside ${number}`)
const random = seededRandom(seed, number, 12)
const favourite = pick(random, LEVELS)

const log = await open(join(directory, 'log'), sharedOptions(seed, number))
log.on('synced', (seq) => note(`l ${seq} sync`))
process.stdout.write('open\n')

let nextId = 1 + number * IDS_OF_A_MEMBER
const waiting = new Set()

function level() {
  return random() < 0.5 ? favourite : pick(random, LEVELS)
}

function recordBytes() {
  const kind = random()
  if (kind < 0.03) return between(random, 4, MAX_RECORD_BYTES)
  if (kind < 0.3) return between(random, 4, 12 * KIB)
  return between(random, 4, 600)
}

function intend(lengths) {
  const id = nextId
  nextId += lengths.length
  note(`i ${id} ${lengths.join(' ')}`)
  return { id, payloads: lengths.map((length, i) => contentOf(seed, id + i, length)) }
}

function acknowledged(seq, id, count, durability) {
  note(`a ${seq} ${id} ${count} ${durability}`)
}

function track(promise) {
  waiting.add(promise)
  promise.then(() => waiting.delete(promise))
}

function append() {
  const { id, payloads } = intend([recordBytes()])
  const durability = level()
  const asked = impatient ? 'memory' : durability
  track(log.append(payloads[0], { durability: asked }).then((seq) => acknowledged(seq, id, 1, durability)))
}

function appendBatch() {
  const { id, payloads } = intend(Array.from({ length: between(random, 2, 7) }, () => Math.min(recordBytes(), 7 * KIB)))
  const durability = level()
  const count = payloads.length
  track(log.appendBatch(payloads, { durability }).then(({ first }) => acknowledged(first, id, count, durability)))
}

/** Repeats a synchronous append until there is room. A record that waits for a stopped writer is already stored. */
async function taken(call) {
  for (;;) {
    try {
      return call()
    } catch (error) {
      if (error.code === 'ERR_DURLOG_STALLED') return undefined
      if (error.code !== 'ERR_DURLOG_BACKPRESSURE') throw error
      await log.drain()
    }
  }
}

/** Writes while no other append is pending: an earlier append that waits for room would get a later seq. */
async function write() {
  await Promise.all(waiting)
  const { id, payloads } = intend([recordBytes()])
  const seq = await taken(() => log.write(payloads[0]))
  if (seq !== undefined) acknowledged(seq, id, 1, 'memory')
}

async function appendSync() {
  await Promise.all(waiting)
  const { id, payloads } = intend([recordBytes()])
  const durability = level()
  const seq = await taken(() => log.appendSync(payloads[0], { durability }))
  if (seq !== undefined) acknowledged(seq, id, 1, durability)
}

function sync() {
  const durability = pick(random, LEVELS)
  track(log.sync(durability).then((seq) => seq >= 0 && note(`l ${seq} ${durability}`)))
}

function trim() {
  const seq = between(random, log.firstSeq, log.nextSeq)
  note(`r ${seq}`)
  track(log.trimBefore(seq).then((first) => note(`R ${first}`)))
}

async function writeBackOutOfOrder() {
  await Promise.all(waiting)
  const lengths = [between(random, 6 * KIB, 12 * KIB), between(random, 5 * KIB, 12 * KIB)]
  for (const length of lengths) {
    const { id, payloads } = intend([length])
    acknowledged(await log.append(payloads[0], { durability: 'memory' }), id, 1, 'memory')
  }
  await writeBackEnd(newestSegment(join(directory, 'log')), lengths[1], neighbour)
}

async function step() {
  const kind = random()
  if (kind < 0.5) {
    for (let i = between(random, 1, 6); i > 0; --i) append()
  } else if (kind < 0.64) {
    appendBatch()
  } else if (kind < 0.74) {
    for (let i = between(random, 1, 4); i > 0; --i) await write()
  } else if (kind < 0.84) {
    await appendSync()
  } else if (kind < 0.9) {
    sync()
  } else if (kind < 0.94) {
    trim()
  } else {
    disturb(neighbour)
  }
  if (random() < 0.1) disturb(neighbour)
  if (random() < 0.5) await Promise.all(waiting)
  // Gives the other members time.
  await new Promise((resolve) => setImmediate(resolve))
}

for (let i = 0; i < STEPS; ++i) {
  if (i === 3 + (number % 4)) await writeBackOutOfOrder()
  await step()
}
if (ending === 'kill') {
  process.stdout.write('kill me\n')
  for (;;) {
    append()
    await write()
  }
}
await Promise.all(waiting)
await log.close()
