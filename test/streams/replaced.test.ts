/** A stream that is deleted and created again, with files of the same names, while it is read. */
import { afterEach, expect, test } from 'vitest'
import { native } from '../../src/native/native.js'
import type { Streams } from '../../src/streams/index.js'
import { Body } from '../../src/streams/port/body.js'
import { portOf } from '../../src/streams/port/port.js'
import { codeOf } from '../fixtures/scratch.js'
import { mode, scratchStreams } from '../fixtures/streams.js'

/** Called before a file of a stream is read. */
let beforeOpen: () => Promise<void> = async () => {}

const { openStreamFiles } = native
native.openStreamFiles = async (...folders) => {
  const storage = await openStreamFiles(...folders)
  return {
    store: (job) => storage.store(job),
    syncAll: () => storage.syncAll(),
    close: () => storage.close(),
    readBody: async (...call) => {
      await beforeOpen()
      return storage.readBody(...call)
    },
    readStored: async (...call) => {
      await beforeOpen()
      return storage.readStored(...call)
    },
  }
}

afterEach(() => {
  mode.exclusive = true
})

async function store(streams: Streams<unknown>, value: string, records: number): Promise<void> {
  for (let at = 0; at < records; at++) await streams.stream('s').append(value)
  await streams.checkpoint()
}

/** Replaces the stream by another one with `records` values of the same length. */
function replaceOnce(streams: Streams<unknown>, records: number): void {
  beforeOpen = async () => {
    beforeOpen = async () => {}
    await streams.stream('s').delete()
    await store(streams, 'new', records)
  }
}

test('a reader of a stream never gets the records of a new stream with the same name', async () => {
  const { streams } = await scratchStreams()
  await store(streams, 'old', 3)
  const reader = streams.stream('s').read({ from: 1 })
  replaceOnce(streams, 3)
  expect(await codeOf(reader.next())).toBe('ERR_DURLOG_NOT_FOUND')
})

test.each([
  [true, 3],
  [false, 3],
  [true, 1],
  [false, 1],
])(
  'a read for an answer reports the deletion if a new stream has the same name (exclusive: %s, new records: %i)',
  async (exclusive, records) => {
    mode.exclusive = exclusive
    const { streams } = await scratchStreams()
    await store(streams, 'old', 3)
    const access = portOf(streams)
    const view = await access.find('s', true)
    const body = new Body('json', 1000)
    replaceOnce(streams, records)
    expect(await codeOf(Promise.resolve(access.read(view as never, 1, body)))).toBe('ERR_DURLOG_NOT_FOUND')
  },
)
