/**
 * A writer of a shared log that is stopped, and not dead, while the others wait for its record. The stopped process is
 * real, but the test writes the reservation into the segment: a writer has one only for a microsecond.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, writeSync } from 'node:fs'
import { platform } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Log, type OpenOptions, open, verify } from '../src/index.js'
import { openUntilDone, records, scratchDir } from './fixtures/scratch.js'
import { stopProcess } from './fixtures/stop-process.mjs'

const IDLE_WRITER = fileURLToPath(new URL('fixtures/shared-idle.mjs', import.meta.url))
const SHARED: OpenOptions = { shared: true, segmentBytes: 65_536 }
/** After the header of the first segment. */
const FIRST_FRAME = 4096

/** Another member, which is stopped; it has slot 2. */
async function stopMember(dir: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [IDLE_WRITER, dir], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  stopProcess(child)
  return child
}

/** Writes the reservation of the log's first frame, of 32 bytes, for one record by slot 2. */
function reserveFirst(dir: string): void {
  const word = Buffer.alloc(8)
  word.writeUInt32LE(((1 << 29) | (32 - 24)) >>> 0, 0)
  word.writeUInt32LE((1 << 8) | 2, 4)
  const file = openSync(join(dir, '00000000000000000000.seg'), 'r+')
  writeSync(file, word, 0, word.length, FIRST_FRAME)
  closeSync(file)
}

async function heldUp(): Promise<{ log: Log; child: ChildProcess }> {
  const dir = join(scratchDir(), 'log')
  const log = await open(dir, SHARED)
  onTestFinished(() => log.close().catch(() => {}))
  const child = await stopMember(dir)
  expect(log.stats().shared).toEqual({ members: 2, slot: 1 })
  reserveFirst(dir)
  return { log, child }
}

describe.skipIf(platform() !== 'linux')('after the reservation of a stopped writer', () => {
  test('an append waits, reports the stopped process, and is acknowledged once that process is dead', async () => {
    const { log, child } = await heldUp()
    const appended = [log.append('at memory', { durability: 'memory' }), log.append('at sync')]
    const [stall] = await once(log, 'stalled')
    expect(stall).toEqual({ pid: child.pid, seq: 0 })
    expect(() => log.appendSync('in the call')).toThrowError(
      expect.objectContaining({ code: 'ERR_DURLOG_STALLED', ownerPid: child.pid, outcome: 'unknown' }),
    )
    child.kill('SIGKILL')
    expect(await Promise.all(appended)).toEqual([1, 2])
    expect((await records(log.read())).map(({ seq, data }) => [seq, data.toString()])).toEqual([
      [1, 'at memory'],
      [2, 'at sync'],
      [3, 'in the call'],
    ])
  })

  test('a log closes and reports that its records are stored and not acknowledged, and they are kept', async () => {
    const { log, child } = await heldUp()
    const appended = [log.append('at memory', { durability: 'memory' }), log.append('at sync'), log.sync()]
    const ends = await Promise.allSettled([...appended, log.close()])
    for (const end of ends)
      expect(end).toMatchObject({ status: 'rejected', reason: { code: 'ERR_DURLOG_STALLED', ownerPid: child.pid } })
    expect(ends[0]).toMatchObject({ reason: { outcome: 'unknown' } })
    // Another member still waits for the stopped one, and continues when that one dies.
    const other = await openUntilDone(log.dir, SHARED)
    const third = other.append('of another one')
    child.kill('SIGKILL')
    expect(await third).toBe(3)
    expect((await records(other.read())).map(({ seq, data }) => [seq, data.toString()])).toEqual([
      [1, 'at memory'],
      [2, 'at sync'],
      [3, 'of another one'],
    ])
    expect((await verify(log.dir)).state).toBe('clean')
  })

  test('a log without pending acknowledgements closes as usual', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await open(dir, SHARED)
    const child = await stopMember(dir)
    reserveFirst(dir)
    expect(log.nextSeq).toBe(1)
    await log.close()
    child.kill('SIGKILL')
    expect(await (await openUntilDone(dir, SHARED)).append('next')).toBeGreaterThanOrEqual(0)
  })
})
