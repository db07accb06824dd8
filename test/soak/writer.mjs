// One life of the soak trial's writer. Appends in every way until it is killed or its stdin ends. Lines on stdout,
// times by CLOCK_MONOTONIC in milliseconds:
//   e ERA FIRST        the records from FIRST on are of ERA
//   a MS ERA MEM SYNC  every record below MEM is acknowledged, every one below SYNC at `sync`
//   C MS SEQ / n       a cut behind SEQ is asked for / was refused
//   T MS SEQ           a trim before SEQ is asked for
//   f ERA END          the log is synced up to END, and closed
import { open } from '../../dist/index.js'
import { randomFrom } from '../crash/payload.mjs'
import { say } from '../fixtures/say.mjs'
import { nowMs, recordOf } from './record.mjs'

const LEVELS = ['memory', 'async', 'sync', 'full']
const MAX_STEP_PAUSE_MS = 10
const MAX_LONG_PAUSE_MS = 400

const { dir, seed, options, firstEra } = JSON.parse(process.argv[2])
const random = randomFrom(seed)
const upTo = (most) => Math.floor(random() * most)

let stopping = false
process.stdin.on('end', () => {
  stopping = true
})
process.stdin.resume()

const log = await open(dir, options)
let era = firstEra
let next = log.nextSeq
let memoryEnd = next
let syncedEnd = 0
let told = ''
let pending = []
say(`e ${era} ${next}`)

function acked(end, level) {
  memoryEnd = Math.max(memoryEnd, end)
  if (level === 'sync' || level === 'full') syncedEnd = Math.max(syncedEnd, end)
}

function tell() {
  const ends = `${era} ${memoryEnd} ${syncedEnd}`
  if (ends !== told) say(`a ${nowMs()} ${ends}`)
  told = ends
}

async function settle() {
  const all = pending
  pending = []
  await Promise.all(all)
  tell()
}

function bytes() {
  const kind = random()
  if (kind < 0.85) return upTo(400)
  return kind < 0.98 ? upTo(8000) : upTo(200_000)
}

const level = () => LEVELS[upTo(4)]

function append() {
  const at = level()
  pending.push(log.append(recordOf(next, era, bytes()), { durability: at }).then((seq) => acked(seq + 1, at)))
  next++
}

function appendBatch() {
  const at = level()
  const list = Array.from({ length: 1 + upTo(10) }, (_, i) => recordOf(next + i, era, upTo(2000)))
  pending.push(log.appendBatch(list, { durability: at }).then(({ last }) => acked(last + 1, at)))
  next += list.length
}

/** `write` and `appendSync` throw if there is no room. The record was not appended then. */
async function appendNow(call, at) {
  try {
    acked(call(recordOf(next, era, bytes())) + 1, at)
    next++
    tell()
  } catch (error) {
    if (error.code !== 'ERR_DURLOG_BACKPRESSURE') throw error
    await log.drain()
  }
}

async function trim() {
  const seq = Math.max(log.firstSeq, next - upTo(4000))
  say(`T ${nowMs()} ${seq}`)
  await log.trimBefore(seq)
}

async function truncate() {
  await settle()
  if (next === log.firstSeq) return
  const seq = Math.max(log.firstSeq, next - 1 - upTo(60))
  say(`C ${nowMs()} ${seq}`)
  try {
    next = await log.truncateAfter(seq)
  } catch (error) {
    // In the middle of a batch.
    if (error.code !== 'ERR_DURLOG_INVALID_ARGUMENT') throw error
    say('n')
    return
  }
  era++
  memoryEnd = next
  syncedEnd = Math.min(syncedEnd, next)
  say(`e ${era} ${next}`)
}

async function step() {
  const kind = random()
  if (kind < 0.45) for (let count = 1 + upTo(8); count > 0; count--) append()
  else if (kind < 0.6) appendBatch()
  else if (kind < 0.8)
    for (let count = 1 + upTo(30); count > 0; count--) await appendNow((data) => log.write(data), 'memory')
  else if (kind < 0.86) {
    const at = level()
    await appendNow((data) => log.appendSync(data, { durability: at }), at)
  } else if (kind < 0.94) {
    const end = next
    pending.push(log.sync().then(() => acked(end, 'sync')))
  } else if (kind < 0.96) await trim()
  else if (kind < 0.98) await truncate()
  if (random() < 0.5 || pending.length > 64) await settle()
}

// Pauses between steps, so that the newest record is often one that nothing follows.
while (!stopping) {
  await step()
  const pauseMs = random() < 0.01 ? upTo(MAX_LONG_PAUSE_MS) : upTo(MAX_STEP_PAUSE_MS)
  await new Promise((resolve) => setTimeout(resolve, pauseMs))
}
await settle()
const end = (await log.sync()) + 1
await log.close()
say(`f ${era} ${end}`)
