/** The limit on the streams of a tenant, and the end of many live requests. Time passes only as the test says. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Broadcast } from '../../src/http/broadcast.js'
import { Live, type Subscriber } from '../../src/http/live.js'
import { resolveHandlerOptions } from '../../src/http/options.js'
import type { Service } from '../../src/http/service.js'
import { portOf, type StreamView } from '../../src/streams/port/port.js'
import { PacedWork } from '../../src/support/paced-work.js'
import { adjustableClock } from '../fixtures/fake-clock.js'
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

/** Returns the number of turns of the event loop in which `begin` ends three requests that take 2 ms each. */
async function turnsOf(begin: (end: () => void) => void): Promise<number> {
  const ahead = adjustableClock('held')
  const turns: number[] = []
  let turn = 0
  begin(() => {
    turns.push(turn)
    ahead(2)
  })
  for (; turns.length < 3; turn++) await nextTurn()
  return new Set(turns).size
}

test('when a server ends, its live requests end in several turns of the event loop', async () => {
  const { streams } = await scratchStreams({ exclusive: true })
  const live = new Live(portOf(streams), resolveHandlerOptions({}), new PacedWork())
  const turns = await turnsOf((end) => {
    for (let request = 0; request < 3; request++) live.admit('', () => end())
    live.close()
  })
  expect(turns).toBe(3)
})

test('when a stream is deleted, its subscribers end in several turns of the event loop', async () => {
  let wake = (): void => {}
  const access = {
    onChange: (_: unknown, woken: () => void) => {
      wake = woken
      return () => {}
    },
    find: () => undefined,
  }
  const service = { access, work: new PacedWork(), live: { broadcasts: new Map() } } as unknown as Service
  const stream = { name: 'deleted', created: 1, visible: 0 } as StreamView
  const turns = await turnsOf((end) => {
    const broadcast = new Broadcast(service, stream)
    for (let at = 0; at < 3; at++) broadcast.join({ next: 0, leastCursor: 0, finish: end } as unknown as Subscriber)
    wake()
  })
  expect(turns).toBe(3)
})
