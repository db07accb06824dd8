/** What settles, and who is notified, in one turn of the event loop. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WritePipeline } from '../src/log/append/write-pipeline.js'
import { Counter, type NativeLog } from '../src/native/log.js'
import { resolveOptions } from '../src/options/open-options.js'

const SYNC = 2

/** A core that accepts every append and whose commits end when the test wants it. */
function fakeCore(): { native: NativeLog; commit(): void } {
  const counters = new Float64Array(Object.keys(Counter).length)
  const native = {
    shared: false,
    counters,
    append(): undefined {
      counters[Counter.nextSeq] = (counters[Counter.nextSeq] as number) + 1
      counters[Counter.accepted] = (counters[Counter.accepted] as number) + 1
    },
    pump(): void {},
  }
  const commit = (): void => {
    for (const end of [Counter.memoryEnd, Counter.asyncEnd, Counter.syncedEnd])
      counters[end] = counters[Counter.nextSeq] as number
  }
  return { native: native as unknown as NativeLog, commit }
}

test('however many commits end in one turn of the event loop, at most 1024 promises settle in it', async () => {
  const { native, commit } = fakeCore()
  const pipeline = new WritePipeline('/log', native, resolveOptions({}))
  let settled = 0
  const append = (): void => {
    const call = { level: SYNC, timestamp: undefined, expectedSeq: undefined }
    void pipeline.append(Buffer.from('x'), call, undefined).then(() => settled++)
  }
  for (let i = 0; i < 5000; i++) append()
  for (let commits = 0; commits < 4; commits++) {
    commit()
    pipeline.onProgress()
    await Promise.resolve()
  }
  expect(settled).toBe(1024)
  while (settled < 5000) await turn()
})

test('readers learn of a record in a map in the turn of its append, and of the others after it', async () => {
  const { native, commit } = fakeCore()
  const append = native.append.bind(native)
  let isMapped = true
  native.append = (...call) => {
    const refused = append(...call)
    if (isMapped) commit()
    return refused
  }
  const pipeline = new WritePipeline('/log', native, resolveOptions({}))
  const events: string[] = []
  pipeline.listen({
    onReadable: () => events.push('readable'),
    onMoved: () => events.push('moved'),
    onRotated() {},
    onLatched() {},
    onStalled() {},
  })
  const call = { level: SYNC, timestamp: undefined, expectedSeq: undefined }
  for (isMapped of [true, false]) {
    const ended = turn()
    // The second record of a turn is found when the turn ends.
    for (let i = 0; i < 2; i++) void pipeline.append(Buffer.from('x'), call, undefined)
    events.push('appended')
    await ended
    events.push('turn')
    await turn()
  }
  expect(events).toEqual(['appended', 'readable', 'turn', 'moved', 'appended', 'turn', 'moved'])
})
