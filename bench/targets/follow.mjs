// The delay until a follower has a record, after the acknowledgement of its append.
import { fork } from 'node:child_process'
import { on, once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { open } from 'durlog'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { median } from '../dist/harness/stats.js'

const RECORDS = 120
const RECORD_BYTES = 128
const PAUSE_MS = 4
const SETTLING_MS = 300
const IDLE_MS = 1000
const LEVELS = ['memory', 'sync']

/** The time in microseconds of a clock that all processes share. */
const nowUs = () => Number(process.hrtime.bigint()) / 1000

/** Makes calls with pauses between them. Returns the times at which they settled. */
async function pace(call) {
  const times = []
  for (let i = 0; i < RECORDS; i += 1) {
    await sleep(PAUSE_MS)
    await call()
    times.push(nowUs())
  }
  return times
}

async function arrivals(log) {
  const times = []
  for await (const _ of log.read({ from: 0, to: RECORDS, follow: true })) times.push(nowUs())
  return times
}

const medianDelay = (arrived, acknowledged) => median(arrived.map((time, i) => time - acknowledged[i]))

async function delayInProcess(dir, durability) {
  return withScratch(dir, async (folder) => {
    const log = await open(join(folder, 'log'), { durability })
    const payload = makePayload(RECORD_BYTES)
    const following = arrivals(log)
    const acknowledged = await pace(() => log.append(payload))
    const value = medianDelay(await following, acknowledged)
    await log.close()
    return value
  })
}

/** Measures the median duration of a turn of the event loop after a pause. */
async function delayOfTurn() {
  const turns = []
  await pace(async () => {
    const before = nowUs()
    await new Promise((resolve) => setImmediate(resolve))
    turns.push(nowUs() - before)
  })
  return median(turns)
}

/** Measures the share of a core, in percent, that a follower uses while nothing is appended. */
async function idlePercent(log, durableOnly = false) {
  const reader = log.read({ from: RECORDS, follow: true, durableOnly })
  const waiting = reader.next()
  await sleep(SETTLING_MS)
  const before = process.cpuUsage()
  await sleep(IDLE_MS)
  const { user, system } = process.cpuUsage(before)
  await reader.return()
  await waiting
  return ((user + system) / (IDLE_MS * 1000)) * 100
}

/**
 * Measures a follower in this process while another process writes, and the delay of a message between the two
 * processes.
 */
async function measureElsewhere(dir, durability) {
  return withScratch(dir, async (folder) => {
    const path = join(folder, 'log')
    const child = fork(fileURLToPath(import.meta.url), [path, durability])
    const messages = on(child, 'message') // keeps messages that arrive together
    const next = async () => (await messages.next()).value[0]
    await next()
    const log = await open(path, { readOnly: true })
    const following = arrivals(log)
    child.send('append')
    const acknowledged = await next()
    const delay = medianDelay(await following, acknowledged)
    const idle = await idlePercent(log)
    await log.close()
    child.send('messages')
    const delays = []
    for (let i = 0; i < RECORDS; i += 1) {
      const sentAt = await next()
      delays.push(nowUs() - sentAt)
    }
    child.send('end')
    await once(child, 'exit')
    const closed = await open(path, { readOnly: true })
    const idleClosed = await idlePercent(closed, true)
    await closed.close()
    return { delay, message: median(delays), idle, idleClosed }
  })
}

const follow = {
  name: 'follow',
  figures: [
    ...LEVELS.flatMap((level) => [
      {
        id: `follow-${level}`,
        title: `a follower in the process has a record at ${level}, p50 after its acknowledgement`,
        unit: 'us',
        max: 60,
        baseline: 'a turn of the event loop',
      },
      {
        id: `follow-elsewhere-${level}`,
        title: `a follower in another process has a record at ${level}, p50 after its acknowledgement`,
        unit: 'us',
        max: 300,
        baseline: 'process.send',
      },
    ]),
    { id: 'follow-idle', title: "a follower's share of a core while nothing is appended", unit: '%', max: 0.5 },
    {
      id: 'follow-idle-closed',
      title: "a follower's share of a core while no writer has the log open",
      unit: '%',
      max: 0.5,
    },
  ],
  async run({ dir }) {
    const figures = {}
    const turn = await delayOfTurn()
    for (const level of LEVELS) {
      figures[`follow-${level}`] = { value: await delayInProcess(dir, level), baseline: turn }
      const { delay, message, idle, idleClosed } = await measureElsewhere(dir, level)
      figures[`follow-elsewhere-${level}`] = { value: delay, baseline: message }
      figures['follow-idle'] = { value: idle }
      figures['follow-idle-closed'] = { value: idleClosed }
    }
    return figures
  },
}

/**
 * The child: at the first message, appends and sends the times of the acknowledgements; at the second, sends messages.
 */
async function appendAndTell(dir, durability) {
  const log = await open(dir, { durability })
  const payload = makePayload(RECORD_BYTES)
  process.send('ready')
  await once(process, 'message')
  process.send(await pace(() => log.append(payload)))
  await once(process, 'message')
  await pace(async () => process.send(nowUs()))
  await once(process, 'message')
  await log.close()
  process.disconnect()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await appendAndTell(process.argv[2], process.argv[3])

export const followGroups = [follow]
