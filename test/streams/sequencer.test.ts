/** The order of appends over a log that delays calls, and over one that rolls records back. */
import { expect, test } from 'vitest'
import { DurlogError, type Log } from '../../src/index.js'
import { decodeEntry, EntryKind } from '../../src/streams/entry.js'
import { bareItem } from '../../src/streams/items.js'
import { type Item, Sequencer } from '../../src/streams/sequencer.js'
import { StreamTable } from '../../src/streams/table.js'

/** A log in memory, whose commits the test ends. */
class PlayedLog {
  readonly records: Buffer[] = []
  synced = 0
  /** Calls are delayed until `admit`. */
  holds = false
  #held: (() => void)[] = []
  #waiting: { first: number; end: number; resolve(first: number): void; reject(error: unknown): void }[] = []

  get nextSeq(): number {
    return this.records.length
  }

  append(data: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      const frame = (): void => {
        const first = this.records.push(data) - 1
        this.#waiting.push({ first, end: first + 1, resolve, reject })
      }
      if (this.holds) this.#held.push(frame)
      else frame()
    })
  }

  admit(): void {
    this.holds = false
    for (const frame of this.#held.splice(0)) frame()
  }

  commit(): void {
    this.synced = this.records.length
    for (const { first, resolve } of this.#waiting.splice(0)) resolve(first)
  }

  /** Fails the commit of the waiting records, whose seqs are then assigned to other records. */
  giveBack(): void {
    this.records.length = this.synced
    for (const { reject } of this.#waiting.splice(0)) reject(new DurlogError('ERR_DURLOG_NO_SPACE', 'no space'))
  }

  async sync(): Promise<number> {
    return this.synced - 1
  }
}

function setUp(): { log: PlayedLog; sequencer: Sequencer; append(stream: string, text: string): Promise<number> } {
  const log = new PlayedLog()
  const load = (): StreamTable => {
    const table = new StreamTable()
    for (const [position, record] of log.records.entries()) table.replay([decodeEntry(record, position)], position)
    return table
  }
  const context = {
    log: log as unknown as Log,
    durability: 'sync' as const,
    maxTailBytes: 1e9,
    reload: async () => load(),
    onAppended: () => {},
    noRoom: () => undefined,
  }
  const sequencer = new Sequencer(context, load())
  const append = async (stream: string, text: string): Promise<number> => {
    const item: Item = { ...bareItem(EntryKind.append, stream), encoding: 'text', value: text }
    return (await sequencer.submit([item]))[0]?.seq as number
  }
  return { log, sequencer, append }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function textsOf({ table }: Sequencer, stream: string): string[] {
  return (table.find(stream)?.tail ?? []).map(({ data }) => data.toString())
}

test('records that the log rolls back are gone from their streams, and later appends get their seqs', async () => {
  const { log, sequencer, append } = setUp()
  const first = append('a', 'kept')
  log.commit()
  expect(await first).toBe(0)
  const failed = [append('a', 'lost 1'), append('b', 'lost 2')]
  log.giveBack()
  // In the same turn, before any rejection has run.
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

test('an append that the log delays keeps its place before later ones', async () => {
  const { log, sequencer, append } = setUp()
  log.holds = true
  const held = [append('a', 'one'), append('a', 'two'), append('b', 'three')]
  await turn()
  expect(log.nextSeq).toBe(0)
  log.admit()
  log.commit()
  await turn()
  log.commit()
  expect(await Promise.all(held)).toEqual([0, 1, 0])
  expect(textsOf(sequencer, 'a')).toEqual(['one', 'two'])
})

test('a delayed append that is framed after a rollback is checked against the records in the log', async () => {
  const { log, sequencer, append } = setUp()
  const lost = append('a', 'lost')
  lost.catch(() => {})
  log.holds = true
  const [same, other] = [append('a', 'same'), append('b', 'other')]
  await turn()
  log.giveBack()
  log.admit()
  for (let i = 0; i < 10; i++) {
    log.commit()
    await turn()
  }
  await expect(lost).rejects.toMatchObject({ code: 'ERR_DURLOG_NO_SPACE' })
  // The first try has seq 1 of a stream without seq 0, so it does not count, and was repeated.
  expect([await same, await other]).toEqual([0, 0])
  expect(textsOf(sequencer, 'a')).toEqual(['same'])
  expect(textsOf(sequencer, 'b')).toEqual(['other'])
  expect([...sequencer.table.voids]).toEqual([0])
})
