/** A client that was stopped: messages of an owner that has died wait in its socket. */
import { mkdirSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStreams } from '../../src/streams/index.js'
import { listenIn } from '../../src/streams/processes/address.js'
import { FrameMaker, FrameReader, FrameType, FrameWriter } from '../../src/streams/processes/frames.js'
import { storedFrame } from '../../src/streams/processes/messages.js'
import { adjustableClock } from '../fixtures/fake-clock.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'

interface Connected {
  socket: Socket
  writer: FrameWriter
  maker: FrameMaker
}

/** Never answers. Settles when a client has connected and sent its hello. */
async function silentOwner(dir: string): Promise<{ greeted: Promise<void> }> {
  mkdirSync(dir, { recursive: true })
  let onGreeted = (): void => {}
  const greeted = new Promise<void>((resolve) => {
    onGreeted = resolve
  })
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', onGreeted)
  })
  await listenIn(dir, server)
  onTestFinished(() => void server.close())
  return { greeted }
}

/** Answers each hello, and calls `onAppend` for each append with the number of the connection, from 0 on. */
async function fakeOwner(
  dir: string,
  onAppend: (connection: number, id: number, to: Connected) => void,
): Promise<void> {
  mkdirSync(dir, { recursive: true })
  let connections = 0
  const server = createServer((socket) => {
    const connection = connections++
    const maker = new FrameMaker()
    const writer = new FrameWriter(socket, maker)
    const reader = new FrameReader()
    socket.on('error', () => {})
    socket.on('data', (chunk) =>
      reader.push(chunk, ({ type, id }) => {
        if (type === FrameType.hello)
          writer.json(FrameType.welcome, 0, { pid: 1, durability: 'sync', encoding: 'json', changes: [] })
        if (type === FrameType.submit) onAppend(connection, id, { socket, writer, maker })
      }),
    )
  })
  await listenIn(dir, server)
  onTestFinished(() => void server.close())
}

const onPosix = process.platform === 'win32' ? test.skip : test

onPosix(
  'a client that was stopped does not repeat a request because it finds old messages of a dead owner',
  async () => {
    const dir = join(scratchDir(), 'streams')
    const pass = adjustableClock('running')
    const received: number[] = []
    await fakeOwner(dir, (connection, id, { socket, writer, maker }) => {
      if (connection > 0) {
        received.push(id)
        writer.send(storedFrame(maker, id, [{ seq: id, duplicate: false }]))
      } else if (id === 1) {
        // The owner answers the first append and dies. The client, which was stopped meanwhile, receives the answer
        // much later.
        pass(70_000)
        writer.send(storedFrame(maker, 0, [{ seq: 0, duplicate: false }]))
        writer.flush()
        socket.end()
      }
    })
    const streams = await openStreams(dir)
    const [first, second] = [0, 1].map((value) => streams.stream('s').append(value))
    await expect(second).rejects.toMatchObject({ code: 'ERR_DURLOG_STALLED', outcome: 'unknown' })
    expect(await first).toEqual({ seq: 0, duplicate: false })
    expect(await streams.stream('s').append(2)).toEqual({ seq: 2, duplicate: false })
    expect(received).toEqual([2])
    await streams.close()
  },
)

onPosix('an owner that closes each new connection, as without a free descriptor, is reported as stalled', async () => {
  const dir = join(scratchDir(), 'streams')
  mkdirSync(dir)
  const server = createServer((socket) => void socket.destroy())
  await listenIn(dir, server)
  onTestFinished(() => void server.close())
  expect(await codeOf(openStreams(dir))).toBe('ERR_DURLOG_STALLED')
})

onPosix('a signal ends the wait for an owner that does not answer', async () => {
  const dir = join(scratchDir(), 'streams')
  const { greeted } = await silentOwner(dir)
  const abort = new AbortController()
  const opening = openStreams(dir, { signal: abort.signal })
  await greeted
  abort.abort(new Error('no longer needed'))
  await expect(opening).rejects.toThrow('no longer needed')
})
