// Followers in other processes while the writer is killed again and again.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { randomFrom } from '../crash/payload.mjs'
import { FollowerHistory, WriterHistory } from './judge.mjs'

const STRATEGIES = ['auto', 'mmap', 'pwrite', 'direct']
const LEVELS = ['memory', 'async', 'sync', 'full']
const SEGMENT_BYTES = [1 << 20, 2 << 20, 4 << 20]
/** Eras of one life: more than it can truncate. */
const LIFE_ERAS = 1_000_000

function start(script, request, onLine) {
  const child = spawn(process.execPath, [fileURLToPath(new URL(script, import.meta.url)), JSON.stringify(request)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })
  lines.on('line', onLine)
  return {
    child,
    ended: Promise.all([once(child, 'exit'), once(lines, 'close')]).then(([[code, signal]]) => code ?? signal),
  }
}

const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Runs for about `seconds` with `kills` kills. Returns the histories, and which process ended that should not have.
 * At the end a follower may take `lastRecordsMs` for what is there and has not been delivered.
 */
export async function runTrial({ dir, seconds, kills, seed, followers, lastRecordsMs }) {
  const random = randomFrom(seed)
  const writer = new WriterHistory()
  const problems = []
  let life = 0

  /** The writer's next life; `opened` settles when it can be seen to append. */
  const live = () => {
    const options = {
      strategy: STRATEGIES[life % STRATEGIES.length],
      durability: LEVELS[Math.floor(random() * LEVELS.length)],
      segmentBytes: SEGMENT_BYTES[Math.floor(random() * SEGMENT_BYTES.length)],
      maxRecordBytes: 250_000,
    }
    const request = { dir, seed: Math.floor(random() * 2 ** 31), options, firstEra: ++life * LIFE_ERAS }
    const from = writer.eras.size
    let onOpen
    const opened = new Promise((resolve) => {
      onOpen = resolve
    })
    const run = start('writer.mjs', request, (line) => {
      writer.told(line)
      if (writer.eras.size > from) onOpen()
    })
    return { ...run, opened }
  }

  let running = live()
  const following = []
  // A reader finds no log before the first writer has made it.
  await Promise.race([running.opened, running.ended])
  for (const { name, durableOnly } of followers) {
    const history = new FollowerHistory(name, durableOnly)
    following.push({ history, ...start('follower.mjs', { dir, durableOnly }, (line) => history.told(line)) })
  }
  while (following.some(({ history }) => history.startMs === undefined && history.problems.length === 0))
    await delay(20)
  const startedAt = Date.now()
  for (let kill = 0; kill < kills; kill++) {
    // Mostly in the middle of work, now and then while the log is being opened.
    const leftMs = seconds * 1000 - (Date.now() - startedAt)
    const opening = random() < 0.15
    const ms = opening ? 60 + random() * 120 : Math.max(100, (leftMs * (0.5 + random())) / (kills - kill + 1))
    if (!opening) await Promise.race([running.opened, running.ended])
    const early = await Promise.race([running.ended, delay(ms)])
    if (early !== undefined) problems.push(`the writer of life ${life} ended by itself: ${early}`)
    running.child.kill('SIGKILL')
    await running.ended
    running = live()
  }
  await Promise.race([running.opened, running.ended])
  await Promise.race([running.ended, delay(Math.max(500, seconds * 1000 - (Date.now() - startedAt)))])
  running.child.stdin.end()
  const code = await running.ended
  if (code !== 0) problems.push(`the last writer ended with ${code}`)
  const histories = following.map(({ history }) => history)
  if (writer.end !== undefined) {
    const last = writer.placeBefore(writer.end.end, writer.end.era)
    const deadline = Date.now() + lastRecordsMs
    const done = () => histories.every((history) => history.hasReached(last) || history.problems.length > 0)
    while (!done() && Date.now() < deadline) await delay(20)
    for (const history of histories)
      if (!history.hasReached(last)) history.problems.push(`never got the last record, ${last.end - 1}`)
  }
  for (const { child } of following) child.kill('SIGKILL')
  await Promise.all(following.map(({ ended }) => ended))
  return { writer, followers: histories, problems, lives: life }
}
