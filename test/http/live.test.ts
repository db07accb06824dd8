/** The limit on the streams of a tenant. Time passes only as the test says. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { Live } from '../../src/http/live.js'
import { resolveHandlerOptions } from '../../src/http/options.js'
import { portOf } from '../../src/streams/port/port.js'
import { PacedWork } from '../../src/support/paced-work.js'
import { scratchStreams } from '../fixtures/streams.js'

vi.mock('../../src/timers.js', async (actual) => (await import('../fixtures/global-timers.js')).globalTimers(actual))

test('counts of tenants are shared for a second, and take no memory afterwards', async () => {
  const { streams } = await scratchStreams({ exclusive: true })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const live = new Live(portOf(streams), resolveHandlerOptions({ maxStreams: 2 }), new PacedWork())
  for (let tenant = 0; tenant < 100; tenant++) await live.admitStream(`${tenant}/`)
  await live.admitStream('7/')
  await expect(live.admitStream('7/')).rejects.toMatchObject({ status: 429 })
  expect(live.counts.size).toBe(100)
  await vi.advanceTimersByTimeAsync(1000)
  expect(live.counts.size).toBe(0)
  await live.admitStream('7/')
})
