import { expect, onTestFinished, test, vi } from 'vitest'
import { DurlogError } from '../src/errors.js'
import { CallQueue } from '../src/log/append/call-queue.js'
import { clock, setImmediate } from '../src/timers.js'
import { codeOf, scratchLog } from './fixtures/scratch.js'

const failure = new DurlogError('ERR_DURLOG_NO_SPACE', 'no room')
const never = new Promise<string>(() => {})

/** Stops the clock, so that every call that can start does so in one turn of the event loop. */
function stopClock(): void {
  const spy = vi.spyOn(clock, 'now').mockReturnValue(0)
  onTestFinished(() => spy.mockRestore())
}

test('a failure during the admission of a call fails the later calls, and not that call if it starts', async () => {
  stopClock()
  const held: CallQueue = new CallQueue(() => held.admit())
  const first = held.hold(() => {
    held.fail(failure)
    return Promise.resolve('went on')
  }, 'append')
  const second = held.hold(() => never, 'append')
  const drained = held.hold(() => Promise.resolve('drained'), 'drain')
  held.admit()
  expect(await first).toBe('went on')
  expect(await codeOf(second)).toBe('ERR_DURLOG_NO_SPACE')
  expect(await drained).toBe('drained')
  expect(held.size).toBe(0)
})

test('a failure during the admission of a call fails that call if it must still wait', async () => {
  stopClock()
  const held: CallQueue = new CallQueue(() => held.admit())
  let starts = 0
  const first = held.hold(() => {
    starts++
    held.fail(failure)
    return undefined
  }, 'append')
  const alone: string[] = []
  held.push({ outlivesFailure: true, admit: () => alone.push('ran') > 0, fail: () => {} })
  held.admit()
  expect(await codeOf(first)).toBe('ERR_DURLOG_NO_SPACE')
  expect(starts).toBe(1)
  expect(alone).toEqual(['ran'])
})

test('an aborted call leaves the queue at once, even if the previous call never starts', async () => {
  stopClock()
  const held: CallQueue = new CallQueue(() => held.admit())
  void held.hold<string>(() => undefined, 'append')
  const controller = new AbortController()
  const aborted = held.hold<string>(() => undefined, 'append', { signal: controller.signal })
  void held.hold<string>(() => undefined, 'append')
  held.admit()
  controller.abort()
  await expect(aborted).rejects.toMatchObject({ name: 'AbortError' })
  expect(held.size).toBe(2)
})

test('a call that is made in response to a failure waits after the calls that survive the failure', () => {
  stopClock()
  const held: CallQueue = new CallQueue(() => held.admit())
  const order: string[] = []
  const call = (name: string, outlivesFailure: boolean, fail = () => {}) => ({
    outlivesFailure,
    admit: () => order.push(name) > 0,
    fail,
  })
  held.push(call('fails', false, () => held.push(call('made meanwhile', false))))
  held.push(call('outlives', true))
  held.fail(failure)
  held.admit()
  expect(order).toEqual(['outlives', 'made meanwhile'])
})

test('a listener may append, sync, trim, drain and close from within an event', async () => {
  const log = await scratchLog({ segmentBytes: 65_536, maxPendingBytes: 65_536 })
  const made: Promise<unknown>[] = []
  log.on('rotated', (firstSeq) => {
    if (firstSeq === 0) return
    made.push(log.append('of a listener'), log.sync(), log.drain(), log.trimBefore(0))
  })
  log.once('synced', () => made.push(log.appendBatch(['a', 'b'])))
  await Promise.all(Array.from({ length: 100 }, () => log.append(Buffer.alloc(4000, 1))))
  expect(made.length).toBeGreaterThan(4)
  await Promise.all(made)
  const closed = new Promise((resolve) => log.once('synced', () => resolve(log.close())))
  const last = log.append('last')
  await closed
  expect(await last).toBe(log.nextSeq - 1)
})

test('calls start for a millisecond in a turn of the event loop, and the others in later turns', async () => {
  let now = 0
  const spy = vi.spyOn(clock, 'now').mockImplementation(() => now)
  onTestFinished(() => spy.mockRestore())
  const started: number[] = []
  const perTurn: number[] = []
  const count = (): void => {
    perTurn.push(started.length - perTurn.reduce((sum, turn) => sum + turn, 0))
  }
  const held: CallQueue = new CallQueue(() => {
    held.admit()
    count()
  })
  for (let i = 0; i < 10; i++)
    held.push({
      outlivesFailure: false,
      admit: () => {
        now += 0.3
        return started.push(i) > 0
      },
      fail: () => {},
    })
  held.admit()
  held.admit()
  count()
  while (held.size > 0) await new Promise((resolve) => setImmediate(resolve))
  expect(perTurn).toEqual([4, 4, 2])
  expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('waiting calls fail for a millisecond in a turn of the event loop, and the others in later turns', async () => {
  let now = 0
  const spy = vi.spyOn(clock, 'now').mockImplementation(() => (now += 0.6))
  onTestFinished(() => spy.mockRestore())
  const held: CallQueue = new CallQueue(() => held.admit())
  let failed = 0
  for (let call = 0; call < 1000; call++) held.hold(() => never, 'append').catch(() => void failed++)
  held.fail(failure)
  let turns = 0
  for (; failed < 1000; turns++) await new Promise((resolve) => setImmediate(resolve))
  expect(turns).toBeGreaterThan(5)
  expect([held.size, held.appends]).toEqual([0, 0])
})

test('flushSync includes waiting appends that would start in later turns', async () => {
  const log = await scratchLog({ strategy: 'pwrite', maxPendingBytes: 65_536, maxRecordBytes: 1000 })
  const appends = Array.from({ length: 20_000 }, () => log.append('x', { durability: 'memory' }))
  expect(log.stats().waitingForRoom).toBeGreaterThan(0)
  expect(log.flushSync()).toBe(19_999)
  expect(await appends.at(-1)).toBe(19_999)
})

test('a signal that aborts several waiting calls starts none of them', async () => {
  stopClock()
  const held: CallQueue = new CallQueue(() => held.admit())
  const controller = new AbortController()
  const { signal } = controller
  let started = 0
  const start = (): Promise<string> | undefined => {
    started++
    return started === 1 ? undefined : Promise.resolve('started')
  }
  const aborted = Array.from({ length: 3 }, () => held.hold(start, 'append', { signal }))
  const last = held.hold(start, 'append')
  held.admit()
  controller.abort()
  for (const call of aborted) await expect(call).rejects.toMatchObject({ name: 'AbortError' })
  expect(await last).toBe('started')
  expect(started).toBe(2)
})

test('a call that leaves the queue does not try again the call at its head', async () => {
  stopClock()
  const held: CallQueue = new CallQueue(() => held.admit())
  let tries = 0
  void held.hold<string>(() => {
    tries++
    return undefined
  }, 'append')
  held.admit()
  const controller = new AbortController()
  const { signal } = controller
  const aborted = Array.from({ length: 100 }, () => held.hold(() => never, 'append', { signal }))
  controller.abort()
  await Promise.allSettled(aborted)
  expect(tries).toBe(1)
})
