/**
 * A write to the device fails, and the kernel reports that to another process than the one that syncs next. A record
 * must not be acknowledged at `sync` because of a sync that did not receive the failure.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type OpenOptions, repair, type Strategy, verify } from '../../src/index.js'
import { diskProblem, runTool } from '../fixtures/disk-image.js'
import { evictInode, type FailingDisk, fsyncAsAnotherProgram, makeFailingDisk } from '../fixtures/failing-disk.js'
import { dyingOfFailedSync, shimProblem } from '../fixtures/fault-shim.js'
import { codeOf, openUntilDone, scratchDir, texts } from '../fixtures/scratch.js'
import { isChosen } from '../fixtures/variants.js'

const CHILD = fileURLToPath(new URL('consumed-error-child.mjs', import.meta.url))
const KIB = 1024
const SEGMENT_BYTES = 256 * KIB
/**
 * Each record takes one page with its frame. So the lost bytes begin at the beginning of a device write: a loop device
 * reports a write that fails in its middle as done.
 */
const PAGE_BYTES = 4 * KIB
const FRAME_BYTES = 24
const RECORD_BYTES = PAGE_BYTES - FRAME_BYTES
const BEFORE = 15
const LOST = 30
const AFTER = 20

interface Outcome {
  acked: number[]
  code: string
}

/** Another process that has the log open. */
class Writer {
  readonly child: ChildProcess
  readonly #exited: Promise<undefined>
  readonly #waiting = new Map<unknown, (answer: Outcome) => void>()
  #next = 0

  private constructor(dir: string, options: OpenOptions, env: NodeJS.ProcessEnv) {
    this.child = spawn(process.execPath, [CHILD, JSON.stringify({ dir, options })], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, ...env },
    })
    this.child.on('message', (message) => {
      const { id, answer } = message as { id: unknown; answer: Outcome }
      this.#waiting.get(id)?.(answer)
    })
    this.#exited = once(this.child, 'exit').then(() => undefined)
    onTestFinished(() => void this.child.kill('SIGKILL'))
  }

  static async open(dir: string, options: OpenOptions, env: NodeJS.ProcessEnv = {}): Promise<Writer> {
    const writer = new Writer(dir, { segmentBytes: SEGMENT_BYTES, ...options }, env)
    await writer.#answer('open')
    return writer
  }

  /** Undefined if the process ends instead. */
  #answer(id: number | 'open'): Promise<Outcome | undefined> {
    const answered = new Promise<Outcome>((resolve) => this.#waiting.set(id, resolve))
    return Promise.race([answered, this.#exited])
  }

  append(count: number, durability: 'memory' | 'sync', bytes = RECORD_BYTES): Promise<Outcome | undefined> {
    const answer = this.#answer(++this.#next)
    this.child.send({ id: this.#next, command: 'append', count, bytes, durability })
    return answer
  }

  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.#exited
  }
}

function segmentsOf(dir: string): string[] {
  const names = readdirSync(dir).filter((name) => name.endsWith('.seg'))
  return names.sort().map((name) => join(dir, name))
}

function newestOf(dir: string): string {
  return segmentsOf(dir).at(-1) as string
}

/** Checks that the log after a power cut holds every record below `end`, and takes more. */
async function expectKept(disk: FailingDisk, dir: string, end: number): Promise<void> {
  disk.remount()
  const log = await openUntilDone(dir)
  const kept = await texts(log.read())
  expect(kept.length).toBeGreaterThanOrEqual(end)
  for (const text of kept) expect(text).toMatch(/^x{4048,4072}$/)
  expect(await log.append('more')).toBe(kept.length)
  await log.close()
}

function endOf(...outcomes: (Outcome | undefined)[]): number {
  return Math.max(...outcomes.map((outcome) => (outcome?.acked.at(-1) ?? -1) + 1))
}

const SHARED: OpenOptions = { shared: true }
const TYPES = ['ext4', 'xfs'] as const

/** After this call the device fails every write of the newest segment after its first `records`. */
function failAfterRecords(disk: FailingDisk, dir: string, records: number): void {
  disk.failWritesOf(newestOf(dir), (1 + records) * PAGE_BYTES, SEGMENT_BYTES)
}

/** Fails the device under `writer`, which has appended `LOST` records that are then only in the page cache. */
async function loseRecordsOf(disk: FailingDisk, dir: string, writer: Writer): Promise<void> {
  failAfterRecords(disk, dir, BEFORE)
  expect(await writer.append(LOST, 'memory')).toMatchObject({ code: '' })
}

function diskOf(type: (typeof TYPES)[number]): FailingDisk {
  const disk = makeFailingDisk(type)
  onTestFinished(() => disk.remove())
  return disk
}

describe('a log with several writers never acknowledges records lost by a failed write, whichever process was notified', () => {
  /** The process that receives the kernel's report, on a disk under an idle member. */
  const CONSUMERS: Record<string, (dir: string) => Promise<void>> = {
    "another process's fsync": async (dir) => expect(fsyncAsAnotherProgram(newestOf(dir))).toMatch(/^(EIO|ENOSPC)$/),
    verify: async (dir) => {
      runTool('sync')
      await verify(dir)
    },
    'a leader that is killed before it reports the failure': async (dir) => {
      const leader = await Writer.open(dir, SHARED, dyingOfFailedSync())
      expect(await leader.append(1, 'sync')).toBeUndefined()
    },
    'the flusher alone': async () => void runTool('sync'),
  }

  for (const [c, [name, consume]] of Object.entries(CONSUMERS).entries()) {
    for (const [t, type] of TYPES.entries()) {
      for (const [u, unsynced] of [LOST, 0].entries()) {
        if (!isChosen(c, t, u)) continue
        test(`${name}, ${type}: a member that joins later, over ${unsynced} lost records`, async ({ skip }) => {
          skip(diskProblem(type) !== '', diskProblem(type))
          skip(shimProblem() !== '', shimProblem())
          const disk = diskOf(type)
          const dir = join(disk.dir, 'log')
          const idle = await Writer.open(dir, SHARED)
          await idle.append(1, 'sync', RECORD_BYTES)
          const before = await idle.append(BEFORE - 1, 'sync')
          if (unsynced > 0) await loseRecordsOf(disk, dir, idle)
          else failAfterRecords(disk, dir, BEFORE)
          await consume(dir)
          disk.heal()
          const joined = await Writer.open(dir, SHARED).catch(() => undefined)
          const after = await joined?.append(AFTER, 'sync')
          await Promise.all([idle.kill(), joined?.kill()])
          await expectKept(disk, dir, endOf(before, after))
        })
      }
    }
  }

  for (const type of TYPES) {
    test(`${type}: a member that joined later, after a member that trusts its syncs has synced`, async ({ skip }) => {
      skip(diskProblem(type) !== '', diskProblem(type))
      const disk = diskOf(type)
      const dir = join(disk.dir, 'log')
      const early = await Writer.open(dir, SHARED)
      await early.append(1, 'sync', RECORD_BYTES)
      const joined = await Writer.open(dir, SHARED)
      await early.append(1, 'sync')
      const before = await joined.append(BEFORE - 2, 'sync')
      await early.kill()
      await loseRecordsOf(disk, dir, joined)
      expect(fsyncAsAnotherProgram(newestOf(dir))).toMatch(/^(EIO|ENOSPC)$/)
      disk.heal()
      const after = await joined.append(AFTER, 'sync')
      await joined.kill()
      await expectKept(disk, dir, endOf(before, after))
    })
  }

  for (const [e, evict] of [false, true].entries()) {
    for (const [t, type] of TYPES.entries()) {
      if (!isChosen(e, t)) continue
      const how = evict ? 'after its inode was evicted' : 'after an fsync by another process'
      test(`${type}: an idle member that enters the segment ${how}`, async ({ skip }) => {
        skip(diskProblem(type) !== '', diskProblem(type))
        const disk = diskOf(type)
        const dir = join(disk.dir, 'log')
        const idle = await Writer.open(dir, SHARED)
        await idle.append(1, 'sync', RECORD_BYTES)
        const busy = await Writer.open(dir, SHARED)
        let before: Outcome | undefined
        while (segmentsOf(dir).length === 1) before = await busy.append(1, 'sync')
        before = await busy.append(BEFORE - 1, 'sync')
        await loseRecordsOf(disk, dir, busy)
        if (evict) runTool('sync')
        else expect(fsyncAsAnotherProgram(newestOf(dir))).toMatch(/^(EIO|ENOSPC)$/)
        await busy.kill()
        if (evict) evictInode(newestOf(dir))
        disk.heal()
        const after = await idle.append(AFTER, 'sync')
        await idle.kill()
        await expectKept(disk, dir, endOf(before, after))
      })
    }
  }
})

describe('a log with one writer never acknowledges records lost by a failed write, whichever process was notified', () => {
  const STRATEGIES: readonly Strategy[] = ['mmap', 'pwrite', 'auto']
  const CONSUMERS: Record<string, (segment: string, writer: Writer) => Promise<void>> = {
    "another process's fsync": async (segment) => void fsyncAsAnotherProgram(segment),
    'the writer, which is killed before it reports the failure': async (_, writer) =>
      void (await writer.append(1, 'sync')),
    'no process, and the inode is evicted': async (segment, writer) => {
      runTool('sync')
      await writer.kill()
      evictInode(segment)
    },
  }
  for (const [c, [name, consume]] of Object.entries(CONSUMERS).entries()) {
    for (const [t, type] of TYPES.entries()) {
      test.for(STRATEGIES.filter((_, s) => isChosen(c, t, s)))(`${name}, ${type}, %s`, async (strategy, { skip }) => {
        skip(diskProblem(type) !== '', diskProblem(type))
        skip(shimProblem() !== '', shimProblem())
        const disk = diskOf(type)
        const dir = join(disk.dir, 'log')
        const writer = await Writer.open(dir, { strategy }, name.startsWith('the writer') ? dyingOfFailedSync() : {})
        const before = await writer.append(BEFORE, 'sync')
        failAfterRecords(disk, dir, BEFORE)
        await writer.append(LOST, 'memory')
        await consume(newestOf(dir), writer)
        disk.heal()
        // Direct writes are rolled back if there is no room, and the log takes the next record.
        const late = writer.ended ? undefined : await writer.append(1, 'sync')
        await writer.kill()
        const next = await Writer.open(dir, { strategy })
        const after = await next.append(AFTER, 'sync')
        expect(after).toMatchObject({ code: '' })
        await next.kill()
        await expectKept(disk, dir, endOf(before, late, after))
      })
    }
  }
})

/** A process that dies after a commit: it stores nothing later, which would write the position to the device. */
const COMMITTER = `
import { open } from 'durlog'
const log = await open(process.argv[1], { readOnly: true })
await (await log.cursor('reader')).commit(Number(process.argv[2]))
process.kill(process.pid, 'SIGKILL')`

test.for(TYPES)(
  '%s: retention keeps the records of a cursor whose position is only in the page cache',
  async (type, { skip }) => {
    skip(diskProblem(type) !== '', diskProblem(type))
    const disk = diskOf(type)
    const dir = join(disk.dir, 'log')
    const log = await openUntilDone(dir, { segmentBytes: SEGMENT_BYTES, retention: { maxAgeMs: 1000 } })
    await (await log.cursor('reader', { from: 0 })).close()
    while (segmentsOf(dir).length < 3) await log.append('x'.repeat(RECORD_BYTES), { timestamp: Date.now() - 60_000 })
    const file = join(dir, 'reader.cursor')
    disk.failWritesOf(file, 0, PAGE_BYTES)
    const killed = spawnSync(process.execPath, ['--input-type=module', '-e', COMMITTER, dir, String(log.nextSeq - 1)])
    expect(killed.signal, String(killed.stderr)).toBe('SIGKILL')
    expect(fsyncAsAnotherProgram(file)).toMatch(/^(EIO|ENOSPC)$/)
    disk.heal()
    const copy = join(scratchDir(), 'copy')
    runTool('dd', `if=${file}`, `of=${copy}`, 'iflag=direct', `bs=${PAGE_BYTES}`, 'count=1', 'status=none')
    expect(readFileSync(file).subarray(0, PAGE_BYTES).equals(readFileSync(copy))).toBe(false)
    await log.applyRetention()
    expect(log.firstSeq).toBe(0)
    await log.close()
  },
)

describe('the report of a failed write is left to the writer', () => {
  const OBSERVERS: Record<string, (dir: string) => Promise<unknown>> = {
    verify: (dir) => verify(dir),
    'a dry run of repair': (dir) => codeOf(repair(dir)),
  }
  for (const [o, [name, observe]] of Object.entries(OBSERVERS).entries()) {
    for (const [s, shared] of [false, true].entries()) {
      if (!isChosen(o, s)) continue
      test(`by ${name} of a log that ${shared ? 'several writers have' : 'a writer has'} open`, async ({ skip }) => {
        skip(diskProblem('ext4') !== '', diskProblem('ext4'))
        const disk = diskOf('ext4')
        const dir = join(disk.dir, 'log')
        const writer = await Writer.open(dir, shared ? SHARED : { strategy: 'mmap' })
        await writer.append(1, 'sync', shared ? RECORD_BYTES : RECORD_BYTES)
        await writer.append(BEFORE - 1, 'sync')
        await loseRecordsOf(disk, dir, writer)
        runTool('sync')
        await observe(dir)
        expect(fsyncAsAnotherProgram(newestOf(dir))).toMatch(/^(EIO|ENOSPC)$/)
      })
    }
  }
})
