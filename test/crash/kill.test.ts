/**
 * kill -9 at random moments: a child appends and prints the acknowledgements; it is killed, and the log must hold all
 * acknowledged records. `npm run trial -- kill --kills 1000` runs more rounds, `--seed` others.
 */
import { spawn } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import {
  type Durability,
  type DurlogError,
  type Log,
  type OpenOptions,
  open,
  type Preallocation,
  type Strategy,
  type VerifyReport,
  verify,
} from '../../src/index.js'
import { scratchDir } from '../fixtures/scratch.js'
import { payloadOf, randomFrom } from './payload.mjs'

const CHILD = fileURLToPath(new URL('append-child.mjs', import.meta.url))
const LEVELS: readonly Durability[] = ['memory', 'async', 'sync', 'full']
const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
const ANYWHERE: readonly Preallocation[] = ['auto', 'auto', 'zero']
const UNMAPPED: readonly Preallocation[] = [...ANYWHERE, 'none']
const SEGMENT_BYTES: readonly number[] = [65_536, 262_144, 1_048_576]
/** The first segment of such a log has 1 MiB, each later one is twice as long. */
const GROWING_SEGMENT_BYTES = 8_388_608

const rounds = Number(process.env['DURLOG_KILL_ROUNDS'] ?? 40)
const seed = Number(process.env['DURLOG_KILL_SEED'] ?? 1)
/** The number of lives of one log: the recovered log is appended to and killed again. */
const LIVES = 5

const totals = { kills: 0, grown: 0, acknowledged: 0, checked: 0, batches: 0, recovered: new Map<string, number>() }

/** The parent's knowledge of a log: the records that it must hold, and those that it must not hold. */
class Expected {
  /** By seq: the generation of each record that the log must hold. */
  readonly acked = new Map<number, number>()
  generation = 1
  /** Records from this seq on must be of this generation. */
  freshFrom = 0
  firstAtLeast = 0
  firstAtMost = 0
  cutBehind: number | undefined

  /** Processes one line of the child. */
  told(line: string): void {
    const [kind, a, b, c] = line.split(' ') as [string, string, string, string]
    switch (kind) {
      case 'a':
        for (let seq = Number(a); seq <= Number(b); seq++) this.acked.set(seq, Number(c))
        totals.acknowledged += Number(b) - Number(a) + 1
        break
      case 'T':
        this.firstAtMost = Math.max(this.firstAtMost, Number(a))
        break
      case 't':
        this.firstAtLeast = Number(a)
        break
      case 'C':
        this.cutBehind = Number(a)
        break
      case 'c':
        for (const seq of this.acked.keys()) if (seq > Number(a)) this.acked.delete(seq)
        this.freshFrom = Number(a) + 1
        this.generation++
        this.cutBehind = undefined
        break
      case 'n':
        this.cutBehind = undefined
        break
    }
  }

  /** Compares the log with this knowledge, and continues from the log's state. */
  async check(log: Log): Promise<void> {
    expect(log.firstSeq).toBeGreaterThanOrEqual(this.firstAtLeast)
    expect(log.firstSeq).toBeLessThanOrEqual(this.firstAtMost)
    const found = new Map<number, number>()
    let next = log.firstSeq
    let insideBatchTo = -1
    for await (const { seq, data } of log.read()) {
      if (seq !== next) throw new Error(`record ${next} is missing: ${seq} follows`)
      next++
      const [ownSeq, generation, first, last] = data
        .toString('latin1', 0, data.indexOf('|'))
        .split(' ')
        .map(Number) as [number, number, number, number]
      if (ownSeq !== seq || !data.equals(payloadOf(seq, generation, first, last)))
        throw new Error(`the bytes of record ${seq} differ from the appended ones`)
      const acked = this.acked.get(seq)
      if (acked !== undefined && acked !== generation)
        throw new Error(`record ${seq} is of generation ${generation}, but ${acked} was acknowledged`)
      if (seq >= this.freshFrom && generation !== this.generation)
        throw new Error(`record ${seq} of generation ${generation} had been cut, and has come back`)
      // A trim removes whole segments, and a batch is within one segment.
      if (seq > first && seq === log.firstSeq) throw new Error(`the batch ${first} to ${last} has lost its beginning`)
      if (last > first && seq === first) totals.batches++
      insideBatchTo = Math.max(insideBatchTo, last)
      found.set(seq, generation)
    }
    if (insideBatchTo >= next) throw new Error(`a batch that ends at ${insideBatchTo} is stored only up to ${next - 1}`)
    expect(next).toBe(log.nextSeq)
    for (const seq of this.acked.keys()) {
      if (seq >= log.firstSeq && seq <= (this.cutBehind ?? Number.POSITIVE_INFINITY) && !found.has(seq))
        throw new Error(`record ${seq} was acknowledged and is lost: the log ends before ${next}`)
    }
    totals.checked += found.size
    this.acked.clear()
    for (const [seq, generation] of found) this.acked.set(seq, generation)
    this.firstAtLeast = this.firstAtMost = log.firstSeq
    this.cutBehind = undefined
    this.freshFrom = next
    this.generation++
  }
}

/** Runs the child until it has printed `lines` lines, kills it, and passes on every line that it has printed. */
async function runAndKill(request: object, lines: number, onLine: (line: string) => void): Promise<void> {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(request)], { stdio: ['ignore', 'pipe', 'pipe'] })
  let rest = ''
  let said = 0
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk
  })
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() as string
    for (const line of parts) onLine(line)
    said += parts.length
    if (said >= lines) child.kill('SIGKILL')
  })
  const ended = await new Promise<NodeJS.Signals | number | null>((resolve, reject) => {
    child.on('close', (code, signal) => resolve(signal ?? code))
    child.on('error', reject)
  })
  if (ended !== 'SIGKILL') throw new Error(`the child ended by itself (${ended}): ${errors}`)
}

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T
}

function segmentBytes(dir: string): number[] {
  const segments = readdirSync(dir).filter((name) => name.endsWith('.seg'))
  return segments.map((name) => statSync(join(dir, name)).size)
}

/** Some children die early, in the middle of opening, and some after several hundred acknowledgements. */
function linesBeforeDeath(random: () => number): number {
  return random() < 0.15 ? 1 + Math.floor(random() * 2) : 2 + Math.floor(random() ** 2 * 400)
}

async function killAgainAndAgain(strategy: Strategy, durability: Durability, kills: number): Promise<void> {
  const trialSeed = seed * 1009 + STRATEGIES.indexOf(strategy) * 101 + LEVELS.indexOf(durability)
  const random = randomFrom(trialSeed)
  for (let done = 0; done < kills; ) {
    const dir = join(scratchDir(), 'log')
    const expected = new Expected()
    const grows = random() < 0.3
    for (let life = 0; life < LIVES && done < kills; life++, done++) {
      const options: OpenOptions = {
        strategy,
        durability,
        preallocate: pick(random, strategy === 'mmap' ? ANYWHERE : UNMAPPED),
        segmentBytes: grows ? GROWING_SEGMENT_BYTES : pick(random, SEGMENT_BYTES),
        maxRecordBytes: 50_000,
      }
      const lifeSeed = Math.floor(random() * 2 ** 31)
      const request = { dir, seed: lifeSeed, options, generation: expected.generation }
      try {
        const lines = linesBeforeDeath(random) * (grows ? 4 : 1)
        await runAndKill(request, lines, (line) => expected.told(line))
        // `verify` writes the cached data to the device: half of the logs are opened without it.
        const report = random() < 0.5 ? await verdictOf(dir) : undefined
        // The log is opened at once: the dead owner holds no lock.
        const log = await open(dir, { ...options, strategy: pick(random, STRATEGIES), preallocate: 'auto' })
        try {
          const { recovery, firstSeq, nextSeq } = log
          if (report !== undefined) expect(report).toMatchObject({ state: recovery.state, firstSeq, nextSeq })
          await expected.check(log)
          totals.recovered.set(log.recovery.state, (totals.recovered.get(log.recovery.state) ?? 0) + 1)
        } finally {
          await log.close()
        }
        expect((await verify(dir)).state).toBe('clean')
      } catch (error) {
        const told = `seed ${seed}, ${JSON.stringify(options)}, life ${life}, kill ${done}`
        throw new Error(`${(error as Error).message} (${told})`, { cause: error })
      }
      totals.kills++
    }
    if (segmentBytes(dir).some((bytes) => bytes > 1_048_576)) totals.grown++
  }
}

/** The report of `verify`; of an empty log if the child was killed before it created one. */
async function verdictOf(dir: string): Promise<Pick<VerifyReport, 'state' | 'firstSeq' | 'nextSeq'>> {
  try {
    return await verify(dir)
  } catch (error) {
    if ((error as DurlogError).code !== 'ERR_DURLOG_NOT_FOUND') throw error
    return { state: 'clean', firstSeq: 0, nextSeq: 0 }
  }
}

/** How many of `rounds` the `index`-th of `parts` runs. */
function share(index: number, parts: number): number {
  return Math.floor((rounds * (index + 1)) / parts) - Math.floor((rounds * index) / parts)
}

test.each(STRATEGIES)(
  'acknowledged records survive kill -9 at every level, whole and in order, and cut ones never return (%s)',
  async (strategy) => {
    const combinations = STRATEGIES.length * LEVELS.length
    const trials = LEVELS.map((durability, level) => ({
      durability,
      kills: share(STRATEGIES.indexOf(strategy) * LEVELS.length + level, combinations),
    }))
    const lane = async (): Promise<void> => {
      for (let trial = trials.shift(); trial; trial = trials.shift())
        await killAgainAndAgain(strategy, trial.durability, trial.kills)
    }
    await Promise.all([lane(), lane()])
  },
  240_000 + rounds * 2_000,
)

afterAll(() => {
  const states = [...totals.recovered].map(([state, count]) => `${count} ${state}`).join(', ')
  process.stdout.write(
    `${totals.kills} kills (seed ${seed}): ${totals.acknowledged} records acknowledged, none lost; ` +
      `${totals.checked} compared, ${totals.batches} batches whole; ${totals.grown} logs with a segment of 2 MiB or more; found ${states}\n`,
  )
})
