/** The power fails during a checkpoint, and again during the checkpoint that repairs the files. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openWithInternals } from '../../src/streams/open.js'
import type { StreamStore } from '../../src/streams/store.js'
import { randomFrom } from '../crash/payload.mjs'
import { scratchDir } from '../fixtures/scratch.js'
import { linesOf, values } from '../fixtures/streams.js'
import { Steps } from './checkpoint-steps.js'
import { UnsyncedFiles } from './unsynced-files.js'

const ROUNDS = Number(process.env['DURLOG_POWER_CUTS'] ?? 25)
const CUTS = 3
const OPTIONS = { checkpointMs: 3_600_000, durability: 'memory' } as const

/** Mostly short, sometimes about as long as a page or several. */
function randomValue(n: number, random: () => number): unknown {
  const kind = random()
  const least = kind < 0.8 ? 0 : kind < 0.95 ? 3500 : 5000
  return { n, filler: 'x'.repeat(least + Math.floor(random() * (kind < 0.8 ? 300 : kind < 0.95 ? 700 : 15_000))) }
}

class Trial {
  readonly random: () => number
  readonly dir = join(scratchDir(), 'streams')
  readonly lines: unknown[] = []
  readonly frames: Uint8Array[] = []
  readonly steps = new Steps()
  files: UnsyncedFiles | undefined
  /** Of the step "sync cut" that has begun. */
  syncCuts: (() => void) | undefined

  constructor(seed: number) {
    this.random = randomFrom(seed)
    this.steps.onStep = (name) => {
      // Before a step, the previous one is done.
      this.syncCuts?.()
      this.syncCuts = name === 'sync cut' ? this.files?.syncOfCuts() : undefined
      // The files of the checkpoint have been synced.
      if (name === 'catalog') this.files?.sync()
    }
  }

  /** The next checkpoint ends at a random step, and records are appended during it. */
  stopSoon(streams?: StreamStore<unknown>): void {
    this.syncCuts = undefined
    this.steps.reset(1 + Math.floor(this.random() * 14), () => streams && void this.append(streams))
  }

  async open(): Promise<StreamStore<unknown>> {
    return openWithInternals(this.dir, OPTIONS, this.steps.hooks)
  }

  async append(streams: StreamStore<unknown>): Promise<void> {
    const appends: Promise<unknown>[] = []
    for (let count = Math.floor(this.random() * 12); count > 0; count--) {
      const value = randomValue(this.lines.length, this.random)
      this.lines.push(value)
      const bytes = new TextEncoder().encode(JSON.stringify(value))
      this.frames.push(bytes)
      appends.push(streams.stream('lines').append(value), streams.stream('frames').append(bytes))
    }
    await Promise.all(appends)
  }

  async check(streams: StreamStore<unknown>): Promise<void> {
    expect(streams.changes).toEqual([])
    expect(await values(streams.stream('lines').read())).toEqual(this.lines)
    expect(linesOf(join(this.dir, 'streams', 'lines.jsonl'))).toEqual(this.lines)
    const frames = (await values(streams.stream('frames').read())) as Uint8Array[]
    expect(frames.map((data) => Buffer.from(data).toString())).toEqual(
      this.frames.map((data) => Buffer.from(data).toString()),
    )
  }
}

test('after power cuts during checkpoints, the files of streams hold their records, and no change is reported', async () => {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const trial = new Trial(seed)
    let streams = await trial.open()
    await streams.stream('frames').create({ encoding: 'bytes' })
    await trial.append(streams)
    await streams.checkpoint()
    trial.files = new UnsyncedFiles(trial.dir)
    await trial.append(streams)
    trial.stopSoon(streams)
    await streams.checkpoint().catch(() => {})
    for (let cut = 0; cut < CUTS; cut++) {
      await streams.close(false)
      trial.files.lose(trial.random)
      trial.stopSoon()
      if (cut === CUTS - 1) trial.steps.reset(Number.POSITIVE_INFINITY)
      streams = await trial.open()
      expect([seed, cut, streams.changes]).toEqual([seed, cut, []])
    }
    await streams.checkpoint()
    await trial.check(streams)
    await streams.close()
  }
})
