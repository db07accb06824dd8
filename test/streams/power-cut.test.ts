/** Simulates power cuts during a checkpoint, and during the checkpoint that then repairs the files. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Folder } from '../../src/streams/api/folder.js'
import { openExclusive } from '../../src/streams/api/open-streams.js'
import { randomFrom } from '../crash/payload.mjs'
import { scratchDir } from '../fixtures/scratch.js'
import { leave, linesOf, values } from '../fixtures/streams.js'
import { Steps } from './checkpoint-steps.js'
import { UnsyncedFiles } from './unsynced-files.js'

const ROUNDS = Number(process.env['DURLOG_POWER_CUTS'] ?? 25)
const CUTS = 3
const OPTIONS = { checkpointMs: 3_600_000, durability: 'memory' } as const

/** A value that is mostly short, and sometimes about as long as one or several pages. */
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
  /** Ends the step "sync cut" that has begun. */
  syncCuts: (() => void) | undefined

  constructor(seed: number) {
    this.random = randomFrom(seed)
    this.steps.onStep = (name) => {
      // When a step begins, the previous one has ended.
      this.syncCuts?.()
      this.syncCuts = name === 'sync cut' ? this.files?.syncOfCuts() : undefined
      // Before this step, the checkpoint has synced its files.
      if (name === 'catalog') this.files?.sync()
    }
  }

  /** Makes the next checkpoint end at a random step, and appends records during it. */
  stopSoon(streams?: Folder<unknown>): void {
    this.syncCuts = undefined
    this.steps.reset(1 + Math.floor(this.random() * 14), () => streams && void this.append(streams))
  }

  async open(): Promise<Folder<unknown>> {
    return openExclusive(this.dir, OPTIONS, this.steps.hooks)
  }

  async append(streams: Folder<unknown>): Promise<void> {
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

  async check(streams: Folder<unknown>): Promise<void> {
    expect(streams.changes).toEqual([])
    expect(await values(streams.stream('lines').read())).toEqual(this.lines)
    expect(linesOf(join(this.dir, 'streams', 'lines.jsonl'))).toEqual(this.lines)
    const frames = (await values(streams.stream('frames').read())) as Uint8Array[]
    expect(frames.map((data) => Buffer.from(data).toString())).toEqual(
      this.frames.map((data) => Buffer.from(data).toString()),
    )
  }
}

test('after power cuts during checkpoints, the files of streams contain all records, and no change by another program is reported', async () => {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const trial = new Trial(seed)
    let streams = await trial.open()
    await streams.stream('frames').create({ encoding: 'buffer' })
    await trial.append(streams)
    await streams.checkpoint()
    trial.files = new UnsyncedFiles(trial.dir)
    await trial.append(streams)
    trial.stopSoon(streams)
    await streams.checkpoint().catch(() => {})
    for (let cut = 0; cut < CUTS; cut++) {
      await leave(streams)
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
