/**
 * Kills processes that share a folder of streams with SIGKILL: the owner, clients and a follower. `npm run trial --
 * streams` makes more kills, `--seed` others.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openStreams } from '../../src/streams/index.js'
import { randomFrom } from '../crash/payload.mjs'
import { scratchDir } from '../fixtures/scratch.js'
import { LineWatch } from './line-watch.js'
import { NUMBERS, SharingModel } from './sharing-model.js'

const CHILD = fileURLToPath(new URL('sharing-child.mjs', import.meta.url))
const kills = Number(process.env['DURLOG_STREAM_KILLS'] ?? 12)
const seed = Number(process.env['DURLOG_STREAM_SEED'] ?? 1)
const NAMES = ['one', 'two', 'Two', 'three/3']
const APPENDERS = 3
/** After this many kills, all processes are killed and the folder is compared with the model. */
const KILLS_IN_FOLDER = 20

interface Child {
  process: ChildProcess
  /** The number of lines that the process has printed. */
  said: number
  ended: Promise<void>
  follows: boolean
}

class Trial {
  readonly model = new SharingModel(NAMES)
  readonly watch: LineWatch
  readonly #dir: string
  readonly #random: () => number
  #started = 0

  constructor(dir: string, random: () => number) {
    this.#dir = dir
    this.#random = random
    this.watch = new LineWatch(join(dir, 'streams'))
  }

  start(follows: boolean): Child {
    const request = {
      dir: this.#dir,
      seed: Math.floor(this.#random() * 2 ** 31),
      options: { checkpointMs: 20, checkpointBytes: 65_536 },
      firstNumber: this.#started++ * NUMBERS,
      names: NAMES,
      follow: follows
        ? Object.fromEntries(NAMES.map((name) => [name, (this.model.followed[name] as number[]).length]))
        : undefined,
    }
    const started = spawn(process.execPath, [CHILD, JSON.stringify(request)], { stdio: ['ignore', 'pipe', 'pipe'] })
    onTestFinished(() => void started.kill('SIGKILL'))
    let [rest, errors] = ['', '']
    const child: Child = { process: started, said: 0, follows, ended: Promise.resolve() }
    started.stderr.on('data', (text) => {
      errors += text
    })
    started.stdout.on('data', (text) => {
      const parts = `${rest}${text}`.split('\n')
      rest = parts.pop() as string
      child.said += parts.length
      for (const line of parts) this.model.processLine(line)
    })
    child.ended = new Promise((resolve) =>
      started.on('close', (code, signal) => {
        if (signal !== 'SIGKILL') this.model.processLine(`v a child ended by itself (${code}): ${errors}`)
        resolve()
      }),
    )
    return child
  }
}

async function kill({ process, ended }: Child): Promise<void> {
  process.kill('SIGKILL')
  await ended
}

test(
  'after kill -9 of the owner and of clients, every acknowledged record is stored once, and followers receive every record',
  async () => {
    const random = randomFrom(seed)
    const totals = { kills: 0, acknowledged: 0, refused: 0, followed: 0, lines: 0 }
    while (totals.kills < kills) {
      const dir = join(scratchDir(), 'streams')
      const trial = new Trial(dir, random)
      const { model, watch } = trial
      const children = Array.from({ length: APPENDERS + 1 }, (_, at) => trial.start(at === APPENDERS))
      for (let killed = 0; killed < KILLS_IN_FOLDER && totals.kills < kills; killed++) {
        const lines = 1 + Math.floor(random() ** 2 * 400)
        const at = Math.floor(random() * children.length)
        const victim = children[at] as Child
        // For a follower, wait for a few lines only: there may be few records to follow.
        await watch.lookUntil(() => victim.said > (victim.follows ? 1 : lines) || victim.process.exitCode !== null)
        await kill(victim)
        children[at] = trial.start(victim.follows)
        totals.kills++
      }
      await Promise.all(children.map(kill))
      watch.look()
      const streams = await openStreams(dir)
      await model.check(streams).catch((cause: Error) => {
        throw new Error(`${cause.message} (seed ${seed}, kill ${totals.kills})`, { cause })
      })
      watch.look()
      await streams.close()
      totals.acknowledged += model.acknowledged
      totals.refused += model.refused
      totals.lines += watch.lines
      for (const received of Object.values(model.followed)) totals.followed += received.length
    }
    process.stdout.write(
      `${totals.kills} kills (seed ${seed}): ${totals.acknowledged} acknowledged, ${totals.refused} refused, ` +
        `${totals.followed} followed, ${totals.lines} lines seen\n`,
    )
    expect(totals.acknowledged).toBeGreaterThan(kills)
    expect(totals.followed).toBeGreaterThan(0)
  },
  240_000 + kills * 10_000,
)
