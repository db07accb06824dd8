/**
 * kill -9 of writers of a shared log: 2 to 6 of them append, a random one is killed at a random moment and another one
 * takes its place. No acknowledged record may be lost or change its place, each writer's records stay in its order, two
 * followers get exactly the records that are kept, and neither they nor a survivor may hang.
 * `npm run trial -- shared --kills 2000` runs more kills, `--seed` others.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { platform } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { open, verify } from '../../src/index.js'
import { records, scratchDir } from '../fixtures/scratch.js'
import { randomFrom } from './payload.mjs'

const CHILD = fileURLToPath(new URL('shared-child.mjs', import.meta.url))
const kills = Number(process.env['DURLOG_SHARED_KILLS'] ?? 10)
const seed = Number(process.env['DURLOG_SHARED_SEED'] ?? 1)
/** The kills of one log; then all of its writers are killed, and it is read back. */
const KILLS_OF_A_LOG = 20
const OPTIONS = { shared: true, segmentBytes: 65_536 } as const

const random = randomFrom(seed)
const totals = { kills: 0, acknowledged: 0, followed: 0, voids: 0 }
/** The times from each kill to the next acknowledgement of each survivor. */
const resumedMs: number[] = []

/** `last - first + 1` records, with counters from `counter` on. */
interface Told {
  first: number
  last: number
  counter: number
}

/** The text of the record at each seq. */
type Found = ReadonlyMap<number, string>

class Member {
  readonly name: string
  readonly told: Told[] = []
  readonly opened: Promise<void>
  readonly ended: Promise<unknown>
  readonly #child: ChildProcess
  /** Rejects if the process ends and was not killed. */
  readonly #failed: Promise<never>
  #onTold: (() => void)[] = []

  constructor(dir: string, name: string) {
    this.name = name
    // Throws after the time limit: then no more processes start. The folder is removed after this hook.
    onTestFinished(async () => {
      this.kill()
      await this.ended
    })
    this.#child = spawn(process.execPath, [CHILD, dir, name, String(Math.floor(random() * 2 ** 31))], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })
    this.#failed = new Promise((_, reject) => {
      this.#child.on('close', (code, signal) => {
        if (signal !== 'SIGKILL') reject(new Error(`${name} ended with ${signal ?? code}`))
      })
    })
    // Prevents an unhandled rejection between the calls that await it.
    this.#failed.catch(() => {})
    let onOpen = (): void => {}
    const opened = new Promise<void>((resolve) => {
      onOpen = resolve
    })
    this.opened = Promise.race([opened, this.#failed])
    lines.on('line', (line) => {
      if (line === 'open') return onOpen()
      const [first, last, , counter] = line.split(' ') as [string, string, string, string]
      this.told.push({ first: Number(first), last: Number(last), counter: Number(counter) })
      for (const done of this.#onTold.splice(0)) done()
    })
    this.ended = Promise.all([
      new Promise((resolve) => this.#child.on('close', resolve)),
      new Promise((resolve) => lines.on('close', resolve)),
    ])
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** Settles at its next acknowledgement after this call. */
  next(): Promise<void> {
    return Promise.race([new Promise<void>((resolve) => this.#onTold.push(resolve)), this.#failed])
  }
}

async function trial(dir: string, rounds: number): Promise<Member[]> {
  const members: Member[] = []
  let named = 0
  const join = async (): Promise<void> => {
    const member = new Member(dir, `m${named++}`)
    members.push(member)
    await member.opened
  }
  const living: Member[] = []
  const count = 2 + Math.floor(random() * 5)
  for (let i = 0; i < count; i++) await join()
  living.push(...members)
  for (let round = 0; round < rounds; round++) {
    await new Promise((resolve) => setTimeout(resolve, Math.floor(random() * 30)))
    const [victim] = living.splice(Math.floor(random() * living.length), 1) as [Member]
    victim.kill()
    totals.kills++
    const killed = performance.now()
    // Each survivor continues; a hang exceeds the test's time limit.
    await Promise.all(
      living.map(async (member) => {
        await member.next()
        resumedMs.push(performance.now() - killed)
      }),
    )
    await victim.ended
    await join()
    living.push(members.at(-1) as Member)
  }
  for (const member of living) member.kill()
  await Promise.all(living.map((member) => member.ended))
  return members
}

/** Checks that each acknowledged record is stored, only under its seq. Returns how many there are. */
function checkAcknowledged(found: Found, members: readonly Member[]): number {
  const seen = new Set<number>()
  for (const { name, told } of members) {
    for (const { first, last, counter } of told) {
      for (let seq = first; seq <= last; seq++) {
        const text = `${name} ${counter + seq - first} `
        if (found.get(seq)?.startsWith(text) !== true) throw new Error(`seq ${seq} is ${found.get(seq)}, not ${text}`)
        if (seen.has(seq)) throw new Error(`seq ${seq} was acknowledged twice`)
        seen.add(seq)
      }
    }
  }
  return seen.size
}

/** Checks that a writer's records are in the order in which it appended them, and that none is stored twice. */
function checkOrder(found: Found): void {
  const counters = new Map<string, number>()
  for (const [seq, text] of found) {
    const [name, counter] = text.split(' ') as [string, string]
    if (!/^m\d+$/.test(name)) continue
    if (Number(counter) <= (counters.get(name) ?? -1)) throw new Error(`seq ${seq} is out of order: ${text}`)
    counters.set(name, Number(counter))
  }
}

async function check(dir: string, members: readonly Member[]): Promise<Found> {
  const log = await open(dir, random() < 0.5 ? OPTIONS : { segmentBytes: 65_536 })
  expect(log.recovery.state).not.toBe('corrupt')
  const found = new Map((await records(log.read())).map(({ seq, data }) => [seq, data.toString()]))
  totals.voids += log.nextSeq - found.size
  await log.close()
  expect((await verify(dir)).state).toBe('clean')
  totals.acknowledged += checkAcknowledged(found, members)
  checkOrder(found)
  return found
}

/** Follows the log until `isDone` returns true for the last seq. */
async function follow(dir: string, durableOnly: boolean, isDone: (last: number) => boolean): Promise<Found> {
  const reader = await open(dir, { readOnly: true })
  const delivered = new Map<number, string>()
  let last = -1
  const records = reader.read({ follow: true, durableOnly })
  while (!isDone(last)) {
    const { value } = await records.next()
    if (value === undefined || value.seq <= last) throw new Error(`seq ${value?.seq} was delivered after ${last}`)
    last = value.seq
    delivered.set(last, value.data.toString())
  }
  await records.return()
  await reader.close()
  return delivered
}

/** Checks that a follower got every current record; the last ones may have been appended after it was done. */
function checkFollowed(delivered: Found, found: Found): void {
  const last = [...delivered.keys()].at(-1) ?? -1
  for (const [seq, text] of found) {
    if (seq <= last && delivered.get(seq) !== text)
      throw new Error(`a follower got ${delivered.get(seq)} at seq ${seq}, which is ${text}`)
  }
  for (const seq of delivered.keys())
    if (!found.has(seq)) throw new Error(`a follower got seq ${seq}, which is not in the log`)
  totals.followed += delivered.size
}

/** For the printed line; no time is asserted, because the machine may be busy. */
function timesOf(values: readonly number[]): Record<string, number> {
  const sorted = [...values].sort((one, other) => one - other)
  const at = (share: number): number => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0)
  return {
    count: sorted.length,
    p50: at(0.5),
    p99: at(0.99),
    worst: at(1),
    over100: sorted.filter((ms) => ms > 100).length,
  }
}

function report(): void {
  console.log(JSON.stringify({ ...totals, resumedMs: timesOf(resumedMs) }))
}

test.skipIf(platform() !== 'linux')(
  `${kills} kills of random members among 2 to 6 lose nothing that was acknowledged`,
  { timeout: 240_000 + kills * 20_000 },
  async () => {
    while (totals.kills < kills) {
      const dir = join(scratchDir(), 'log')
      await (await open(dir, OPTIONS)).close()
      let acknowledged = Number.POSITIVE_INFINITY
      const following = [false, true].map((durableOnly) => follow(dir, durableOnly, (last) => last >= acknowledged))
      // Prevents an unhandled rejection; they are awaited below.
      for (const follower of following) follower.catch(() => {})
      const members = await trial(dir, Math.min(KILLS_OF_A_LOG, kills - totals.kills))
      const log = await open(dir, OPTIONS)
      acknowledged = await log.append('the last')
      // The follower may have received that record before this process knew that it is the last one.
      await log.append('behind it')
      const delivered = await Promise.all(following)
      await log.close()
      const found = await check(dir, members)
      for (const one of delivered) checkFollowed(one, found)
      if (totals.kills % 100 === 0) report()
    }
    report()
  },
)
