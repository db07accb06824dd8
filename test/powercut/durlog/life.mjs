// life.mjs <number> close|kill: opens the log, appends in every possible way, truncates, trims, moves a cursor, and
// closes the log or dies.
import { join } from 'node:path'
import { open } from '../../../dist/index.js'
import { hasGrowingSegments, openOptions } from './combinations.mjs'
import { contentOf } from './content.mjs'
import { disturb, newestSegment, writeBackEnd } from './kernel.mjs'
import { note } from './notes.mjs'
import { between, pick, seededRandom } from './random.mjs'

const STEPS = 22
const KIB = 1024
const LEVELS = ['memory', 'async', 'sync', 'full']

const seed = Number(process.env.POWERCUT_SEED)
const directory = process.env.POWERCUT_DIR
const life = Number(process.argv[2])
const random = seededRandom(seed, life, 2)
const options = openOptions(seed, life)
// Each life prefers one level: a log that is always synced behaves differently from one that is written in memory.
const favourite = pick(random, LEVELS)
const longShare = hasGrowingSegments(seed) ? 0.3 : 0.02

const log = await open(join(directory, 'log'), options)
note(`o ${log.nextSeq} ${log.uuid}`)
log.on('synced', (seq) => note(`a ${seq} sync`))
const cursor = await log.cursor('reader')
note(`c ${cursor.position}`)

let nextSeq = log.nextSeq
let nextId = 1 + life * 1_000_000
/** The seqs at which a truncation may cut: none is within a batch. */
let borders = [nextSeq]
const waiting = new Set()

function level() {
  return random() < 0.5 ? favourite : pick(random, LEVELS)
}

function recordBytes() {
  const kind = random()
  if (kind < longShare) return between(random, 1, Math.min(150 * KIB, options.segmentBytes - 8 * KIB))
  if (kind < 0.28 + longShare) return between(random, 1, 20 * KIB)
  return between(random, 1, 600)
}

/** Notes the records that are about to be appended, and returns their payloads. */
function intend(lengths) {
  const count = lengths.length
  note(`i ${nextSeq} ${nextId} ${lengths.join(' ')}`)
  const payloads = lengths.map((length, i) => contentOf(seed, nextId + i, length))
  const seq = nextSeq
  nextSeq += count
  nextId += count
  borders.push(nextSeq)
  return { seq, payloads }
}

function expectSeq(found, expected) {
  if (found !== expected) throw new Error(`seq ${found} was assigned, but ${expected} was next`)
}

function track(promise) {
  waiting.add(promise)
  promise.then(() => waiting.delete(promise))
}

function append() {
  const { seq, payloads } = intend([recordBytes()])
  const durability = level()
  track(
    log.append(payloads[0], { durability }).then((found) => {
      expectSeq(found, seq)
      note(`a ${seq} ${durability}`)
    }),
  )
}

function appendBatch() {
  // A batch fits into one segment.
  const most = Math.min(20 * KIB, options.segmentBytes / 8)
  const lengths = Array.from({ length: between(random, 2, 7) }, () => Math.min(recordBytes(), most))
  const { seq, payloads } = intend(lengths)
  const durability = level()
  track(
    log.appendBatch(payloads, { durability }).then(({ first, last }) => {
      expectSeq(first, seq)
      note(`a ${last} ${durability}`)
    }),
  )
}

/** Repeats a call that appends synchronously until there is room for the record. */
async function taken(call) {
  for (;;) {
    try {
      return call()
    } catch (error) {
      if (error.code !== 'ERR_DURLOG_BACKPRESSURE') throw error
      await log.drain()
    }
  }
}

/** Writes while no other append is pending: then the next seq is known, whether there is room or not. */
async function write() {
  await Promise.all(waiting)
  const { seq, payloads } = intend([recordBytes()])
  expectSeq(await taken(() => log.write(payloads[0])), seq)
  note(`a ${seq} memory`)
}

async function appendSync() {
  await Promise.all(waiting)
  const { seq, payloads } = intend([recordBytes()])
  const durability = level()
  expectSeq(await taken(() => log.appendSync(payloads[0], { durability })), seq)
  note(`a ${seq} ${durability}`)
}

async function sync() {
  const durability = pick(random, LEVELS)
  track(log.sync(durability).then((seq) => seq >= 0 && note(`a ${seq} ${durability}`)))
}

/** Most truncations cut only a few records. Pending appends settle before the cut. */
async function truncate() {
  const least = log.firstSeq
  borders = borders.filter((border) => border >= least)
  const recent = random() < 0.7 ? borders.slice(-8) : borders
  const next = random() < 0.03 || recent.length === 0 ? least : pick(random, recent)
  note(`t ${next}`)
  expectSeq(await log.truncateAfter(next - 1), next)
  note(`T ${next}`)
  nextSeq = next
  borders = [...borders.filter((border) => border < next), next]
  if (cursor.position <= next) return
  note(`s ${next}`)
  await cursor.seek(next)
  note(`S ${next}`)
}

/** Commits an acknowledged record. */
async function commit() {
  await Promise.all(waiting)
  const from = Math.max(cursor.position, log.firstSeq)
  if (from >= nextSeq) return
  const seq = between(random, from, nextSeq - 1)
  const durability = pick(random, ['memory', 'memory', 'sync'])
  note(`k ${seq + 1}`)
  await cursor.commit(seq, { durability })
  note(`K ${seq + 1} ${durability}`)
}

function trim() {
  const seq = between(random, log.firstSeq, nextSeq)
  note(`r ${seq}`)
  track(log.trimBefore(seq).then((first) => note(`R ${first}`)))
}

/** Writes a record's pages back before the earlier pages, as the kernel may do. */
async function writeBackOutOfOrder() {
  await Promise.all(waiting)
  const file = newestSegment(join(directory, 'log'))
  const lengths = [between(random, 6 * KIB, 12 * KIB), between(random, 5 * KIB, 12 * KIB)]
  for (const length of lengths) {
    const { seq, payloads } = intend([length])
    expectSeq(await log.append(payloads[0], { durability: 'memory' }), seq)
  }
  await writeBackEnd(file, lengths[1], directory)
}

async function step() {
  const kind = random()
  if (kind < 0.5) {
    for (let i = between(random, 1, 6); i > 0; --i) append()
  } else if (kind < 0.62) {
    appendBatch()
  } else if (kind < 0.72) {
    for (let i = between(random, 1, 4); i > 0; --i) await write()
  } else if (kind < 0.8) {
    await appendSync()
  } else if (kind < 0.86) {
    await sync()
  } else if (kind < 0.9) {
    trim()
  } else if (kind < 0.94) {
    await truncate()
  } else {
    disturb(directory)
  }
  if (random() < 0.15) disturb(directory)
  if (random() < 0.3) await commit()
  if (random() < 0.5) await Promise.all(waiting)
}

for (let i = 0; i < STEPS; ++i) {
  if (i % 8 === 4) await writeBackOutOfOrder()
  await step()
}
if (process.argv[3] === 'kill') {
  append()
  if (random() < 0.5) void log.close()
  await new Promise((resolve) => setTimeout(resolve, random() * 3))
  process.kill(process.pid, 'SIGKILL')
}
await Promise.all(waiting)
await log.close()
if (nextSeq > 0) note(`a ${nextSeq - 1} sync`)
