/**
 * Kills a process that appends to streams with SIGKILL, at random times and at each step of a checkpoint. Then every
 * acknowledged record must be stored, and the files must be JSON Lines at all times. `npm run trial -- streams --kills
 * 300` makes more kills, `--seed` others.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openStreams } from '../../src/streams/index.js'
import { randomFrom } from '../crash/payload.mjs'
import { hasWholeLines } from '../fixtures/file-system.js'
import { scratchDir } from '../fixtures/scratch.js'
import { KillModel } from './kill-model.js'
import { LineWatch } from './line-watch.js'

const CHILD = fileURLToPath(new URL('kill-child.mjs', import.meta.url))
const kills = Number(process.env['DURLOG_STREAM_KILLS'] ?? 12)
const seed = Number(process.env['DURLOG_STREAM_SEED'] ?? 1)
/** How often the process is started and killed in one folder. */
const LIVES = 8
/** The number of append numbers that each start of the process may use. */
const NUMBERS = 1_000_000
const LEVELS = ['sync', 'sync', 'memory'] as const

/** Runs a child until it has printed `lines` lines or killed itself, and checks the files meanwhile. */
async function runAndKill(request: object, lines: number, onLine: (line: string) => void, watch: LineWatch) {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(request)], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [said, rest, errors] = [0, '', '']
  let isAlive = true
  child.stderr.on('data', (text) => {
    errors += text
  })
  child.stdout.on('data', (text) => {
    const parts = `${rest}${text}`.split('\n')
    rest = parts.pop() as string
    for (const line of parts) onLine(line)
    said += parts.length
    if (said >= lines) child.kill('SIGKILL')
  })
  const ended = new Promise<NodeJS.Signals | number | null>((resolve, reject) => {
    child.on('close', (code, signal) => {
      isAlive = false
      // On Windows a process that kills itself ends with status 1.
      const hasKilledItself = process.platform === 'win32' && code === 1 && errors === ''
      resolve(hasKilledItself ? 'SIGKILL' : (signal ?? code))
    })
    child.on('error', reject)
  })
  await watch.lookUntil(() => !isAlive)
  if ((await ended) !== 'SIGKILL') throw new Error(`the child ended by itself (${await ended}): ${errors}`)
}

test(
  'after kill -9 every acknowledged record is in its stream once and in order, and readers of the files see only complete lines',
  async () => {
    const random = randomFrom(seed)
    const totals = { kills: 0, atSteps: 0, acknowledged: 0, compared: 0, batches: 0, removed: 0, looks: 0, lines: 0 }
    while (totals.kills < kills) {
      const dir = join(scratchDir(), 'streams')
      const model = new KillModel()
      const watch = new LineWatch(join(dir, 'streams'))
      for (let life = 0; life < LIVES && totals.kills < kills; life++) {
        const options = {
          durability: LEVELS[Math.floor(random() * LEVELS.length)],
          checkpointMs: 10 + Math.floor(random() * 40),
          checkpointBytes: 65_536,
        }
        const atStep = random() < 0.6
        const request = {
          dir,
          seed: Math.floor(random() * 2 ** 31),
          options,
          firstNumber: life * NUMBERS,
          ledgers: model.ledgers,
          dieAtStep: atStep ? 1 + Math.floor(random() ** 2 * 300) : -1,
        }
        const lines = atStep ? 4000 : 1 + Math.floor(random() ** 2 * 1500)
        try {
          await runAndKill(request, lines, (line) => model.processLine(line), watch)
          // Check the files before and after the recovery.
          watch.look()
          const streams = await openStreams(dir)
          try {
            watch.look()
            await model.check(streams)
          } finally {
            await streams.close()
          }
        } catch (error) {
          const message = `${(error as Error).message} (seed ${seed}, kill ${totals.kills}, ${JSON.stringify(request)})`
          throw new Error(message, { cause: error })
        }
        totals.kills++
        if (atStep) totals.atSteps++
      }
      totals.acknowledged += model.acknowledged
      totals.compared += model.compared
      totals.batches += model.batches
      totals.removed += model.removed
      totals.looks += watch.looks
      totals.lines += watch.lines
    }
    process.stdout.write(
      `${totals.kills} kills (seed ${seed}), ${totals.atSteps} at a step of a checkpoint: ${totals.acknowledged} acknowledged, ` +
        `${totals.compared} compared, ${totals.batches} batches whole, ${totals.removed} removed; ${totals.lines} lines seen in ${totals.looks} looks\n`,
    )
    expect(totals.acknowledged).toBeGreaterThan(kills)
    expect(totals.lines > 0).toBe(hasWholeLines)
    expect(totals.removed).toBeGreaterThan(0)
  },
  240_000 + kills * 10_000,
)
