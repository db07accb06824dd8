// A process that shares a folder of streams. Carries out the requests of the parent, and answers each with { id, value
// } or { id, error }.
import { existsSync } from 'node:fs'
import process from 'node:process'
import { openStreams } from '../../dist/streams/index.js'

let streams
const cursors = new Map()

async function all(records, max = Number.POSITIVE_INFINITY) {
  const found = []
  for await (const record of records) {
    found.push(record)
    if (found.length >= max) break
  }
  return found
}

const OPERATIONS = {
  open: async ({ dir, options }) => {
    streams = await openStreams(dir, options)
    streams.on('stalled', (stall) => process.send({ event: 'stalled', value: stall }))
  },
  create: ({ stream, options }) => streams.stream(stream).create(options),
  append: ({ stream, value, options }) => streams.stream(stream).append(value, options),
  // Makes one append after another until the file `path` exists.
  appendUntil: async ({ stream, path }) => {
    let count = 0
    while (!existsSync(path)) await streams.stream(stream).append(count++)
    return count
  },
  batch: ({ items }) => streams.appendBatch(items),
  read: ({ stream, options, max }) => all(streams.stream(stream).read(options), max),
  readAll: ({ options, max }) => all(streams.readAll(options), max),
  list: () => all(streams.list()),
  info: ({ stream }) => streams.stream(stream).info(),
  checkpoint: () => streams.checkpoint(),
  end: ({ stream }) => streams.stream(stream).end(),
  delete: ({ stream }) => streams.stream(stream).delete(),
  cursor: async ({ name }) => {
    cursors.set(name, await streams.cursor(name))
    return cursors.get(name).position
  },
  commit: async ({ name, position }) => {
    await cursors.get(name).commit(position)
    return cursors.get(name).position
  },
  cursorRead: ({ name, max }) => all(cursors.get(name).read({ follow: true }), max),
  // Blocks the event loop until the file `path` exists, and leaves the processor to the others.
  block: ({ path }) => {
    process.send({ event: 'blocking' })
    const never = new Int32Array(new SharedArrayBuffer(4))
    while (!existsSync(path)) Atomics.wait(never, 0, 0, 1)
  },
  close: () => streams.close(),
}

process.on('message', async ({ id, op, ...rest }) => {
  try {
    process.send({ id, value: await OPERATIONS[op](rest) })
  } catch (error) {
    const { code, message, ownerPid, nextSeq, outcome } = error
    process.send({ id, error: { code, message, ownerPid, nextSeq, outcome } })
  }
})
