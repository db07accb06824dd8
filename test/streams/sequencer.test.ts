/** The order of appends to a log that delays calls, and to a log that removes records after a failed write. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DurlogError, type DurlogErrorCode } from '../../src/index.js'
import type { Resolve } from '../../src/log/append/waiters.js'
import type { FramingLog } from '../../src/open.js'
import { dueBytes } from '../../src/streams/checkpoint/checkpoint.js'
import { bareItem, groupItem, type Item } from '../../src/streams/core/items.js'
import { Sequencer } from '../../src/streams/core/sequencer.js'
import { EncodedValue, encodeForAny } from '../../src/streams/port/encoding.js'
import { defaultMeta, type StreamMeta } from '../../src/streams/port/meta.js'
import { resolveAppendOptions } from '../../src/streams/port/options.js'
import type { StreamAppendResult, StreamEncoding } from '../../src/streams/port/types.js'
import { decodeEntry, EntryKind } from '../../src/streams/state/entry.js'
import { Positions } from '../../src/streams/state/positions.js'
import { StreamTable } from '../../src/streams/state/table.js'
import { clock } from '../../src/timers.js'

/** A log in memory whose commits the test controls. */
class ControlledLog {
  readonly records: Buffer[] = []
  synced = 0
  /** The log has no room until `admit`. */
  isFull = false
  #drained: (() => void)[] = []
  #waiting: { seq: number; resolve: Resolve }[] = []

  get nextSeq(): number {
    return this.records.length
  }

  frame(bytes: Buffer, start: number, end: number, _durability: string, resolve: Resolve): boolean {
    return this.frameBatch([Buffer.from(bytes.subarray(start, end))], _durability, resolve)
  }

  frameBatch(records: Buffer[], _durability: string, resolve: Resolve): boolean {
    if (this.isFull) return false
    this.records.push(...records)
    this.#waiting.push({ seq: this.records.length - 1, resolve })
    return true
  }

  roomAt(): Promise<void> {
    return new Promise((resolve) => this.#drained.push(resolve))
  }

  admit(): void {
    this.isFull = false
    for (const resolve of this.#drained.splice(0)) resolve()
  }

  commit(): void {
    this.synced = this.records.length
    for (const { seq, resolve } of this.#waiting.splice(0)) resolve(seq, seq)
  }

  /** Fails the commit of all waiting records. Later records get their seqs. */
  failAll(): void {
    this.failFrom(this.synced)
  }

  failFrom(first: number, code: DurlogErrorCode = 'ERR_DURLOG_NO_SPACE'): void {
    this.records.length = first
    const error = new DurlogError(code, 'the commit failed')
    const kept = this.#waiting.filter(({ seq }) => seq < first).length
    for (const { seq, resolve } of this.#waiting.splice(kept)) resolve(Promise.reject(error), seq)
  }

  async reachedAt(): Promise<void> {
    const seq = this.records.length - 1
    if (this.synced <= seq) await new Promise((resolve) => this.#waiting.push({ seq, resolve }))
  }
}

/** A group of one append without options. */
function appendItem(stream: string, value: unknown): Item {
  const conditions = resolveAppendOptions(undefined)
  return groupItem({ stream, created: undefined, values: encodeForAny(value), conditions })
}

function setUp(encoding: StreamEncoding = 'utf8'): {
  log: ControlledLog
  sequencer: Sequencer
  append(stream: string, text: string): Promise<number>
} {
  // Every call that can start does so in one turn of the event loop.
  const spy = vi.spyOn(clock, 'now').mockReturnValue(0)
  onTestFinished(() => spy.mockRestore())
  const log = new ControlledLog()
  const load = (): StreamTable => {
    const table = new StreamTable()
    for (const [position, record] of log.records.entries()) table.replay([decodeEntry(record, position)], position)
    return table
  }
  const context = {
    log: log as unknown as FramingLog,
    durability: 'sync' as const,
    encoding,
    maxMemTableBytes: 1e9,
    reload: async () => load(),
    onAppended: () => {},
    checkpointError: () => undefined,
  }
  const sequencer = new Sequencer(context, load())
  const append = async (stream: string, text: string): Promise<number> => {
    const { seq } = await submit(sequencer, appendItem(stream, text))
    return seq
  }
  return { log, sequencer, append }
}

function submit(sequencer: Sequencer, item: Item): Promise<StreamAppendResult> {
  return new Promise((resolve) => sequencer.submit(item, undefined, resolve))
}

/** The item of `create`, with the options `meta` and the seq of the source that the caller did not choose. */
function creationItem(stream: string, meta: StreamMeta): Item {
  const creation = { meta, forkAnywhere: meta.fork !== undefined, encodingNamed: true, end: false }
  return { ...bareItem(EntryKind.create, stream), draft: creation }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function textsOf({ table }: Sequencer, stream: string): string[] {
  const unflushed = table.find(stream)?.unflushed ?? new Positions()
  return Array.from(unflushed.first(unflushed.length), (at) => JSON.parse(table.memTable.at(at).data.toString()))
}

test('records that a failed write removes from the log are not in their streams, and later appends get their seqs', async () => {
  const { log, sequencer, append } = setUp()
  const first = append('a', 'kept')
  log.commit()
  expect(await first).toBe(0)
  const failed = [append('a', 'lost 1'), append('b', 'lost 2')]
  log.failAll()
  // In the same turn, before any handler of a rejection has run.
  const later = [append('a', 'next'), append('a', 'after')]
  const outcomes = await Promise.allSettled(failed)
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await turn()
  log.commit()
  expect(await Promise.all(later)).toEqual([1, 2])
  expect(textsOf(sequencer, 'a')).toEqual(['kept', 'next', 'after'])
  expect(sequencer.table.find('b')).toBeUndefined()
  expect(sequencer.rollbacks).toBe(1)
})

test('a refusal is reported once the records that it depends on are stored', async () => {
  const { log, sequencer, append } = setUp()
  const end = submit(sequencer, bareItem(EntryKind.end, 'a'))
  const first = append('a', 'first')
  log.commit()
  await expect(end).rejects.toMatchObject({ code: 'ERR_DURLOG_NOT_FOUND' })
  await first
  const ended = submit(sequencer, bareItem(EntryKind.end, 'a'))
  let refused = false
  const late = append('a', 'late').catch((error: DurlogError) => {
    refused = true
    return error.code
  })
  await turn()
  expect(refused).toBe(false)
  log.commit()
  await ended
  expect(await late).toBe('ERR_DURLOG_STREAM_ENDED')
})

test('a value that cannot be encoded is refused while earlier calls are not stored yet', async () => {
  const { log, sequencer, append } = setUp()
  const first = append('a', 'first')
  await expect(submit(sequencer, appendItem('a', 7))).rejects.toMatchObject({ code: 'ERR_DURLOG_INVALID_ARGUMENT' })
  log.commit()
  expect(await first).toBe(0)
})

test('a refusal is not reported if the records that it depends on are lost', async () => {
  const { log, sequencer, append } = setUp()
  const first = append('a', 'first')
  log.commit()
  await first
  const ended = submit(sequencer, bareItem(EntryKind.end, 'a'))
  const late = append('a', 'late')
  log.failAll()
  await expect(ended).rejects.toMatchObject({ code: 'ERR_DURLOG_NO_SPACE' })
  await expect(late).rejects.toMatchObject({ code: 'ERR_DURLOG_NO_SPACE', outcome: 'not-written' })
  const next = append('a', 'next')
  await turn()
  log.commit()
  expect(await next).toBe(1)
})

test('an append that waits for room in the log is stored before later ones', async () => {
  const { log, sequencer, append } = setUp()
  log.isFull = true
  const held = [append('a', 'one'), append('a', 'two'), append('b', 'three')]
  await turn()
  expect(log.nextSeq).toBe(0)
  log.admit()
  await turn()
  log.commit()
  expect(await Promise.all(held)).toEqual([0, 1, 0])
  expect(textsOf(sequencer, 'a')).toEqual(['one', 'two'])
})

test('appends that wait and hold too much memory leave no room for another one', async () => {
  const { log, sequencer, append } = setUp()
  log.isFull = true
  const first = append('a', 'first')
  const large = new EncodedValue('buffer', Buffer.allocUnsafeSlow(2 ** 27))
  const held = [0, 1].map(() => submit(sequencer, { ...appendItem('a', ''), draft: large }))
  await expect(append('a', 'refused')).rejects.toMatchObject({
    code: 'ERR_DURLOG_BACKPRESSURE',
    outcome: 'not-written',
  })
  log.admit()
  for (const one of held) await expect(one).rejects.toMatchObject({ code: 'ERR_DURLOG_INVALID_ARGUMENT' })
  const last = append('a', 'last')
  log.commit()
  expect(await Promise.all([first, last])).toEqual([0, 1])
})

test('refused appends that wait for earlier ones and hold too much memory leave no room for another one', async () => {
  const { log, sequencer } = setUp('buffer')
  const small = (): Item => appendItem('a', Buffer.of(1))
  const first = submit(sequencer, small())
  const large = new EncodedValue('buffer', Buffer.allocUnsafeSlow(2 ** 23))
  const conflicts = Array.from({ length: 32 }, () => submit(sequencer, { ...small(), draft: large, expectedSeq: 9 }))
  await expect(submit(sequencer, small())).rejects.toMatchObject({ code: 'ERR_DURLOG_BACKPRESSURE' })
  log.commit()
  for (const one of conflicts) await expect(one).rejects.toMatchObject({ code: 'ERR_DURLOG_SEQ_CONFLICT' })
  const last = submit(sequencer, small())
  log.commit()
  expect((await Promise.all([first, last])).map(({ seq }) => seq)).toEqual([0, 1])
})

test('an append that has waited for room is decided by the records that are then in the log', async () => {
  const { log, sequencer, append } = setUp()
  const lost = append('a', 'lost')
  lost.catch(() => {})
  log.isFull = true
  const [same, other] = [append('a', 'same'), append('b', 'other')]
  await turn()
  log.failAll()
  log.admit()
  await turn()
  log.commit()
  await expect(lost).rejects.toMatchObject({ code: 'ERR_DURLOG_NO_SPACE' })
  expect([await same, await other]).toEqual([0, 0])
  expect(textsOf(sequencer, 'a')).toEqual(['same'])
  expect(textsOf(sequencer, 'b')).toEqual(['other'])
  expect(sequencer.table.voids.size).toBe(0)
})

test('an append that has waited for room creates its stream with the encoding of the folder if the creation has failed', async () => {
  const { log, sequencer } = setUp('json')
  const names: Record<string, StreamEncoding> = { single: 'utf8', batch: 'utf8' }
  const created = Object.entries(names).map(([name, encoding]) =>
    submit(sequencer, creationItem(name, defaultMeta(encoding))),
  )
  log.isFull = true
  const waiting = [
    submit(sequencer, appendItem('single', 'text')),
    sequencer.submitBatch([appendItem('batch', 'text'), appendItem('other', 'text')]),
  ]
  await turn()
  log.failAll()
  log.admit()
  await Promise.allSettled(created)
  await turn()
  log.commit()
  await Promise.all(waiting)
  const encodings = ['single', 'batch', 'other'].map((name) => sequencer.table.find(name)?.meta.encoding)
  expect(encodings).toEqual(['json', 'json', 'json'])
  expect(textsOf(sequencer, 'single')).toEqual(['text'])
})

test('a fork that has waited for room begins with the records of its source that are then in the log', async () => {
  const { log, sequencer, append } = setUp()
  const kept = append('source', 'kept')
  log.commit()
  await kept
  const lost = append('source', 'lost')
  lost.catch(() => {})
  log.isFull = true
  const fork = { stream: 'source', seq: 0, bytes: 0 }
  const forked = submit(sequencer, creationItem('fork', { ...defaultMeta('utf8'), fork }))
  await turn()
  log.failAll()
  log.admit()
  await turn()
  log.commit()
  await forked
  expect(sequencer.table.find('fork')?.start).toBe(1)
})

test('if a commit stores only some of its calls, these resolve and the others reject', async () => {
  const { log, sequencer, append } = setUp()
  const both = [append('a', 'stored'), append('b', 'lost'), append('a', 'lost too')]
  log.failFrom(1)
  log.commit()
  const outcomes = await Promise.allSettled(both)
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  await turn()
  expect(textsOf(sequencer, 'a')).toEqual(['stored'])
  expect(sequencer.table.find('b')).toBeUndefined()
})

test('with thousands of changed streams a checkpoint waits for 4 KiB per stream, but for at most twice checkpointBytes', () => {
  const checkpointBytes = 2 ** 24
  expect([1, 4096, 6000, 8192, 100_000].map((changed) => dueBytes(checkpointBytes, changed))).toEqual([
    checkpointBytes,
    checkpointBytes,
    6000 * 4096,
    2 * checkpointBytes,
    2 * checkpointBytes,
  ])
})

test.each(['ERR_DURLOG_NO_SPACE', 'ERR_DURLOG_SYNC_FAILED'] as const)(
  'nothing waits for a deletion after its write has failed with %s',
  async (code) => {
    const { log, sequencer, append } = setUp()
    const stored = append('a', 'kept')
    log.commit()
    await stored
    const deleted = submit(sequencer, bareItem(EntryKind.delete, 'a'))
    expect(sequencer.table.isDeleting('a')).toBe(true)
    const woken = new Promise<void>((resolve) => sequencer.table.onChange('a', resolve))
    log.failFrom(1, code)
    await expect(deleted).rejects.toMatchObject({ code })
    await woken
    expect(sequencer.table.isDeleting('a')).toBe(false)
    if (code === 'ERR_DURLOG_NO_SPACE') expect(textsOf(sequencer, 'a')).toEqual(['kept'])
  },
)

test('waiting appends start for a millisecond in a turn of the event loop, and the others in later turns', async () => {
  const { log, append } = setUp()
  log.isFull = true
  const appends = Array.from({ length: 10 }, (_, i) => append('a', String(i)))
  let now = 0
  vi.spyOn(clock, 'now').mockImplementation(() => (now += 0.3))
  log.admit()
  const stored: number[] = []
  while (log.records.length < 10) {
    await nextTurn()
    stored.push(log.records.length)
  }
  expect(Math.max(...stored.map((count, turn) => count - (stored[turn - 1] ?? 0)))).toBeLessThan(8)
  log.commit()
  expect(await Promise.all(appends)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})
