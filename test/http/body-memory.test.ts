/** The memory of answers, which later answers use again. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { BodyMemory } from '../../src/http/body-memory.js'
import { streamsHandler } from '../../src/http/index.js'
import { scratchStreams } from '../fixtures/streams.js'

const MEBIBYTE = 1 << 20
const CHUNK_BYTES = 4 * MEBIBYTE

test('the memory of a body that was sent is used for the next one, but not that of another body', () => {
  const memory = new BodyMemory(1000)
  const taken = memory.take()
  const body = memory.detach(taken.subarray(0, 1000), taken)
  expect(memory.take().buffer).not.toBe(taken.buffer)
  memory.sent(body)
  memory.sent(Buffer.alloc(10))
  memory.sent(Buffer.alloc(2000))
  expect(memory.take().buffer).toBe(taken.buffer)
  expect(memory.take().buffer.byteLength).toBe(taken.buffer.byteLength)
})

/** Serves the streams `a` and `b`, whose data are these letters. `keep` gets the chunks like a middleware. */
async function serve(keep?: (chunk: Buffer) => void): Promise<{ port: number; read(name: string): Promise<string> }> {
  const { streams } = await scratchStreams()
  for (const name of ['a', 'b']) {
    await streams.stream(name).create({ encoding: 'buffer' })
    await streams.stream(name).append(Buffer.alloc(CHUNK_BYTES, name))
  }
  const handler = streamsHandler(streams, { chunkBytes: CHUNK_BYTES })
  const server = createServer((request, response) => {
    if (keep !== undefined) {
      const end = response.end.bind(response)
      response.end = ((chunk: Buffer) => {
        keep(chunk)
        return end(chunk)
      }) as typeof end
    }
    handler(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(async () => {
    await handler.close()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const read = async (name: string): Promise<string> => {
    const body = Buffer.from(await (await fetch(`http://127.0.0.1:${port}/${name}?offset=-1`)).arrayBuffer())
    return body.equals(Buffer.alloc(CHUNK_BYTES, name)) ? name : 'other bytes'
  }
  return { port, read }
}

test('an answer that a client reads late has its own bytes, whatever others read meanwhile', async () => {
  const { port, read } = await serve()
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.pause()
  socket.write('GET /a?offset=-1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  await once(socket, 'connect')
  for (let reads = 0; reads < 5; reads++) expect(await read('b')).toBe('b')
  const parts: Buffer[] = []
  socket.on('data', (part: Buffer) => parts.push(part))
  socket.resume()
  await once(socket, 'end')
  const answer = Buffer.concat(parts)
  expect(answer.subarray(answer.indexOf('\r\n\r\n') + 4).equals(Buffer.alloc(CHUNK_BYTES, 'a'))).toBe(true)
})

test('a middleware that keeps an answer keeps its bytes', async () => {
  const kept: Buffer[] = []
  const { read } = await serve((chunk) => kept.push(chunk))
  for (const name of ['a', 'b', 'b']) expect(await read(name)).toBe(name)
  expect(kept.map((chunk) => String.fromCharCode(chunk[0] ?? 0))).toEqual(['a', 'b', 'b'])
})
