/** A publisher's timeouts and its limit on unacknowledged messages, without a server and with a fake clock. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { AckTimeout } from '../src/jetstream/ack-timeout.js'
import { FlowControl } from '../src/jetstream/flow-control.js'
import { Publications } from '../src/jetstream/publications.js'
import { askUntilAnswered, firstSuccess } from '../src/jetstream/race.js'
import { rawHeaders } from '../src/jetstream/raw-headers.js'
import { DuplicateMessage, Unanswered } from '../src/jetstream/refusals.js'
import { ShipConflict } from '../src/ship/conflict.js'

vi.mock('../src/timers.js', async (actual) => (await import('./fixtures/global-timers.js')).globalTimers(actual))
beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the wait for an acknowledgement', () => {
  const LIMIT_MS = 10_000

  /** Publications over a connection that keeps its messages, and `answer`, which acknowledges the oldest one. */
  function stage(ackTimeout = new AckTimeout(LIMIT_MS)) {
    const replies: string[] = []
    let onMessage: (error: Error | null, message: unknown) => void = () => {}
    const nc = {
      subscribe: (_subject: string, { callback }: { callback: typeof onMessage }) => {
        onMessage = callback
        return { unsubscribe: () => {} }
      },
      publish: (_subject: string, _data: unknown, { reply }: { reply: string }) => replies.push(reply),
      isClosed: () => false,
    }
    const failures: Error[] = []
    const publications = new Publications(nc as never, 'inbox', ackTimeout, (error) => failures.push(error))
    const acks: number[] = []
    const send = (): void => {
      publications.request('s', Buffer.from('x'), rawHeaders(''), ({ seq }) => acks.push(seq))
    }
    const answer = (body: unknown = { seq: acks.length + 1 }): void => {
      onMessage(null, { subject: replies.shift(), json: () => body })
    }
    return { send, answer, acks, failures, publications }
  }

  test('restarts with each acknowledgement, and ends with the last one', () => {
    const { send, answer, acks, failures } = stage()
    for (let i = 0; i < 4; i++) send()
    for (let i = 0; i < 4; i++) {
      vi.advanceTimersByTime(1900)
      answer()
    }
    expect(acks).toEqual([1, 2, 3, 4])
    vi.advanceTimersByTime(60_000)
    expect(failures).toEqual([])
  })

  test('ends the session once if no acknowledgement arrives', () => {
    const { send, answer, failures, publications } = stage()
    send()
    send()
    vi.advanceTimersByTime(1999)
    expect(failures).toEqual([])
    vi.advanceTimersByTime(1)
    expect(failures).toMatchObject([{ message: 'publishing: no acknowledgement within 2000 ms' }])
    expect(failures[0]).toBeInstanceOf(Unanswered)
    answer()
    publications.fail(new Error('another failure'))
    expect(failures).toHaveLength(1)
  })

  test('doubles after each timeout up to the limit, and is short again after a response', () => {
    const ackTimeout = new AckTimeout(LIMIT_MS)
    const waits: number[] = []
    for (let i = 0; i < 5; i++) {
      waits.push(ackTimeout.ms)
      ackTimeout.unanswered()
    }
    expect(waits).toEqual([2000, 4000, 8000, LIMIT_MS, LIMIT_MS])
    ackTimeout.answered(100)
    expect(ackTimeout.ms).toBe(2000)
  })

  test('is four times the longest recent wait of a slow stream', () => {
    const ackTimeout = new AckTimeout(LIMIT_MS)
    ackTimeout.answered(1500)
    ackTimeout.answered(10)
    expect(ackTimeout.ms).toBeGreaterThan(5500)
    expect(ackTimeout.ms).toBeLessThanOrEqual(6000)
    for (let i = 0; i < 1000; i++) ackTimeout.answered(10)
    expect(ackTimeout.ms).toBe(2000)
    expect(new AckTimeout(500).ms).toBe(500)
  })

  test('ends with the reason if an acknowledgement is missing or is a refusal', () => {
    const lost = stage()
    lost.send()
    lost.send()
    lost.answer({ seq: 1 })
    lost.send()
    // The second message's answer never arrived.
    const skipped = stage()
    skipped.send()
    skipped.send()
    skipped.answer({ duplicate: true, seq: 1 })
    expect(skipped.failures[0]).toBeInstanceOf(DuplicateMessage)
    const refused = stage()
    refused.send()
    refused.answer({ error: { err_code: 10109, description: 'sealed' } })
    expect(refused.failures).toMatchObject([{ code: 'ERR_DURLOG_DESTINATION_REFUSED' }])
    expect(refused.acks).toEqual([])
    const conflict = stage()
    conflict.send()
    conflict.answer({ error: { err_code: 10071, description: 'wrong last sequence' } })
    expect(conflict.failures[0]).toBeInstanceOf(ShipConflict)
  })
})

describe('the limit on unacknowledged messages', () => {
  const facts = { subject: 's', dropsOld: false, maxDataBytes: 1, created: false, lastSequence: 0, createdAt: '' }
  const batches = { ...facts, atomicBatches: true, replicated: false }
  const single = { ...facts, atomicBatches: false, replicated: false }
  const flowOf = (given: typeof batches): FlowControl => {
    const flow = new FlowControl(false)
    flow.facts = given
    return flow
  }

  test('is halved by each timeout, and grows with each batch up to the limit of a server', () => {
    const flow = flowOf(batches)
    expect([flow.batchMessages, flow.room(0, 0), flow.room(5, 999), flow.room(5, 1000)]).toEqual([1000, 1000, 1, 0])
    flow.failed(new Unanswered('no answer'), 1000)
    flow.failed(new Unanswered('no answer'), 1000)
    expect(flow.batchMessages).toBe(250)
    flow.stored(250)
    expect(flow.batchMessages).toBe(260)
    for (let i = 0; i < 200; i++) flow.stored(100)
    expect(flow.batchMessages).toBe(1000)
    for (let i = 0; i < 20; i++) flow.failed(new Unanswered('no answer'), 1000)
    expect(flow.batchMessages).toBe(1)
  })

  test('stays below the batch length that a server has refused', () => {
    const flow = flowOf(batches)
    flow.failed(new Error('atomic publish batch is too large: 500 (10199)'), 1000)
    for (let i = 0; i < 200; i++) flow.stored(100)
    expect(flow.batchMessages).toBe(500)
    expect(flow.mode).toBe('atomic batches of up to 500')
  })

  test('is one message after a batch was refused for an unknown reason, until that is stored', () => {
    const flow = flowOf(batches)
    flow.failed(new ShipConflict('another message'), 10)
    flow.failed(new DuplicateMessage('known'), 10)
    expect([flow.inBatches, flow.batchMessages]).toEqual([true, 1000])
    flow.failed(new Error('incomplete'), 10)
    expect([flow.inBatches, flow.room(0, 0), flow.room(1, 0), flow.room(0, 1)]).toEqual([false, 1, 0, 0])
    flow.stored(1)
    expect(flow.inBatches).toBe(true)
  })

  test('is unlimited for single messages until others publish or the server is slow, and grows by one for each window', () => {
    const flow = flowOf(single)
    expect(flow.room(5000, 0)).toBeGreaterThan(1e6)
    flow.failed(new ShipConflict('another message'), 100)
    expect([flow.room(0, 0), flow.room(49, 0), flow.room(50, 0), flow.room(60, 0)]).toEqual([50, 1, 0, 0])
    flow.failed(new Unanswered('no answer'), 50)
    expect(flow.room(0, 0)).toBe(25)
    for (let i = 0; i < 25; i++) flow.stored(1)
    expect(Math.floor(flow.room(0, 0))).toBe(25)
    flow.stored(1)
    flow.stored(1)
    expect(Math.floor(flow.room(0, 0))).toBe(26)
    flow.failed(new Error('lost'), 1)
    expect(Math.floor(flow.room(0, 0))).toBe(26)
    for (let i = 0; i < 20; i++) flow.failed(new ShipConflict('another message'), 1)
    expect(flow.room(0, 0)).toBe(1)
  })

  test('is one message for a replicated stream without batches', () => {
    const flow = flowOf({ ...single, replicated: true })
    expect([flow.room(0, 0), flow.room(1, 0)]).toEqual([1, 0])
    expect(flow.mode).toContain('one at a time')
  })
})

describe('a request', () => {
  test('is repeated each second until a response arrives', async () => {
    const asked: ((answer: string) => void)[] = []
    const answer = askUntilAnswered(() => new Promise<string>((resolve) => asked.push(resolve)))
    vi.advanceTimersByTime(3500)
    expect(asked).toHaveLength(4)
    asked[2]?.('third')
    expect(await answer).toBe('third')
    vi.advanceTimersByTime(10_000)
    expect(asked).toHaveLength(4)
  })

  test('ends with the first refusal', async () => {
    await expect(askUntilAnswered(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('the first success of several tries', () => {
  const never = (): Promise<never> => new Promise(() => {})
  const signal = new AbortController().signal

  test('begins the next try at once after a failure, and with a delay if there is no answer', async () => {
    const begun: string[] = []
    let ended = 0
    const tries = ['fails', 'is silent', 'answers', 'is late'].map((name) => async (ending: AbortSignal) => {
      begun.push(name)
      ending.addEventListener('abort', () => ended++)
      if (name === 'fails') throw new Error(name)
      return name === 'answers' ? name : never()
    })
    const result = firstSuccess(tries, 500, signal)
    await vi.advanceTimersByTimeAsync(499)
    expect(begun).toEqual(['fails', 'is silent'])
    await vi.advanceTimersByTimeAsync(1)
    expect(await result).toBe('answers')
    expect(begun).toEqual(['fails', 'is silent', 'answers'])
    expect(ended).toBe(3)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('fails with every error, or with the reason of its signal', async () => {
    const fails = (text: string) => () => Promise.reject(new Error(text))
    await expect(firstSuccess([fails('a'), fails('b')], 500, signal)).rejects.toMatchObject([
      { message: 'a' },
      { message: 'b' },
    ])
    const ending = new AbortController()
    const waiting = firstSuccess([never], 500, ending.signal)
    ending.abort(new Error('closed'))
    await expect(waiting).rejects.toMatchObject([{ message: 'closed' }])
    await expect(firstSuccess([never], 500, ending.signal)).rejects.toMatchObject([{ message: 'closed' }])
  })
})
