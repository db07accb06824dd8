import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Log, ReplicationStall } from '../../src/index.js'
import type { ReplicationDestination } from '../../src/options/replication-link.js'
import { openUntilDone, scratchDir } from '../fixtures/scratch.js'

vi.mock('../../src/timers.js', async (actual) => (await import('../fixtures/global-timers.js')).globalTimers(actual))

const silent: ReplicationDestination = {
  keepsLocal: false,
  start: () => ({
    begin() {},
    flush() {},
    stats: () => ({ state: 'shipping', lag: { records: 0, bytes: 0, ms: 0 }, retries: 0, lastError: undefined }),
    async close() {},
  }),
}

test('a stall names the oldest record that is waited for, in whichever order the calls were made', async () => {
  const log: Log = await openUntilDone(join(scratchDir(), 'log'), { replicate: silent })
  await log.appendBatch(['a', 'b', 'c'])
  const given = new AbortController()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const calls = [
    log.reached(2, 'replicated', { signal: given.signal }),
    log.reached(1, 'replicated'),
    log.reached(0, 'replicated'),
  ].map((call) => call.catch(() => {}))
  await log.sync()
  const stall = new Promise<ReplicationStall>((resolve) => log.once('replicationStalled', resolve))
  given.abort()
  await calls[0]
  vi.advanceTimersByTime(10_000)
  expect((await stall).seq).toBe(0)
  expect(log.stats().replication?.stalled).toBe(true)
  await log.close()
  await Promise.all(calls)
})

test('close rejects every append that waits before it resolves', async () => {
  const log: Log = await openUntilDone(join(scratchDir(), 'log'), { replicate: silent })
  let rejected = 0
  const appends = Array.from({ length: 5000 }, () =>
    log.append('x', { durability: 'replicated' }).catch(() => rejected++),
  )
  await log.reached(4999)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const closed = log.close()
  vi.advanceTimersByTime(2000)
  await closed
  expect(rejected).toBe(appends.length)
})
