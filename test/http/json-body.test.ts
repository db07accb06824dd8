/** Bodies of JSON: each message is stored as it was sent, and a body that is not valid is refused. */
import { expect, onTestFinished, test } from 'vitest'
import { streamsHandler } from '../../src/http/index.js'
import { serveStreams } from '../fixtures/http.js'
import { codeOf } from '../fixtures/scratch.js'
import { scratchStreams, values } from '../fixtures/streams.js'

const JSON_TYPE = { 'content-type': 'application/json' }
/** A body of this length is split on another thread. */
const LONG_BYTES = 300_000
const DEPTH_MAX = 512

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

async function post(url: string, method: string, body: string | Uint8Array<ArrayBuffer>): Promise<number> {
  return (await fetch(url, { method, headers: JSON_TYPE, body })).status
}

test.each([0, LONG_BYTES])('a body with %s bytes of space is split and checked in the same way', async (padding) => {
  const { url, stop } = await serveStreams()
  onTestFinished(stop)
  const space = ' \n\r\t'.repeat(padding / 4)
  expect(await post(`${url}/s`, 'PUT', `${space}[1,${space}{"a" :\n2}]`)).toBe(201)
  expect(await post(`${url}/s`, 'POST', `[ "x\\n" ,${space}[3,\r\n4]]${space}`)).toBe(204)
  expect(await post(`${url}/s`, 'POST', `${space}5${space}`)).toBe(204)
  expect(await post(`${url}/s`, 'POST', `${space}[${nested(DEPTH_MAX)}]`)).toBe(204)
  for (const refused of ['[]', '[1', '[1,]', '[1]]', '{"a":1}{}', `[${nested(DEPTH_MAX + 1)}]`, '"\u0001"']) {
    expect(await post(`${url}/s`, 'POST', space + refused)).toBe(400)
    if (refused !== '[]') expect(await post(`${url}/other`, 'PUT', space + refused)).toBe(400)
  }
  expect(
    await post(
      `${url}/s`,
      'POST',
      new Uint8Array(Buffer.concat([Buffer.from(space), Buffer.from([0x22, 0xff, 0x22])])),
    ),
  ).toBe(400)
  const read = await (await fetch(`${url}/s`)).text()
  expect(read).toBe(`[1,{"a" : 2},"x\\n",[3,  4],5,${nested(DEPTH_MAX)}]`)
})

test('a long body that is refused for its content type or its stream is answered like a short one', async () => {
  const { url, streams, stop } = await serveStreams()
  onTestFinished(stop)
  const long = `[1,${'\n'.repeat(LONG_BYTES)}2]`
  await streams.stream('bytes').create({ encoding: 'buffer', contentType: 'application/json' })
  expect(await post(`${url}/bytes`, 'POST', long)).toBe(204)
  expect(await (await fetch(`${url}/bytes`)).text()).toBe(long)
  expect(await post(`${url}/none`, 'POST', long)).toBe(404)
  await streams.stream('text').create({ encoding: 'utf8' })
  expect(await post(`${url}/text`, 'POST', long)).toBe(409)
})

test.each([true, false])(
  'a value that is nested too deeply is refused, and stores nothing (exclusive: %s)',
  async (exclusive) => {
    const { streams } = await scratchStreams({ exclusive })
    const stream = streams.stream('s')
    await stream.append(JSON.parse(nested(DEPTH_MAX)))
    const deep: unknown = JSON.parse(nested(DEPTH_MAX + 1))
    for (const call of [
      stream.append(deep),
      stream.appendAll([1, deep]),
      streams.stream('new').create({ values: [deep] }),
    ])
      expect(await codeOf(call)).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    expect(await stream.info()).toMatchObject({ nextSeq: 1 })
    expect(await streams.stream('new').info()).toBeUndefined()
  },
)

test.each([true, false])(
  'long values are stored as they were sent, in memory and in files (exclusive: %s)',
  async (exclusive) => {
    const { streams } = await scratchStreams({ exclusive })
    const handler = streamsHandler(streams)
    onTestFinished(() => handler.close())
    const send = async (name: string, method: string, type: string, body: string, headers = {}) => {
      const init = { method, headers: { 'content-type': type, ...headers }, body }
      return (await handler.fetch(new Request(`http://localhost/${name}`, init))).status
    }
    const long = 'ab\u00fc'.repeat(LONG_BYTES / 4)
    const types = { json: 'application/json', utf8: 'text/plain', buffer: 'application/octet-stream' }
    for (const [name, type] of Object.entries(types)) {
      const body = name === 'json' ? JSON.stringify(long) : long
      expect(await send(name, 'PUT', type, body)).toBe(201)
      expect(await send(name, 'POST', type, body)).toBe(204)
      expect(await send(name, 'POST', type, body, { 'stream-closed': 'true' })).toBe(204)
    }
    for (let files = 0; files < 2; files++) {
      for (const name of Object.keys(types)) {
        const found = (await values(streams.stream(name).read())).map(String)
        expect(found.length === 3 && found.every((value) => value === long)).toBe(true)
      }
      await streams.checkpoint()
    }
  },
)
