/** Events that are formatted in parts, which may end inside a character or a line break. */
import { expect, test } from 'vitest'
import { streamsHandler } from '../../src/http/index.js'
import { scratchStreams } from '../fixtures/streams.js'

const LENGTH = 100_000

/** The data of the events up to the first control event, as the algorithm of HTML reads it. */
async function dataOf(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const part of response.body ?? []) {
    text += decoder.decode(part as Uint8Array, { stream: true })
    if (text.includes('event: control')) break
  }
  const [event] = text.split('\n\n')
  const lines = (event as string).split('\n').filter((line) => line.startsWith('data:'))
  return lines.map((line) => line.slice('data:'.length).replace(/^ /, '')).join('\n')
}

test.each(['\r\n', '\r', '\n ', ' ', '\r\n \u20ac', '\u{1f600}\n', 'data: x\n'])(
  'a long text of %j is sent as it is, with line breaks of one character',
  async (unit) => {
    const { streams } = await scratchStreams({ durability: 'memory' })
    const { fetch } = streamsHandler(streams)
    // The parts end at each place of the unit.
    for (let shift = 0; shift < 8; shift++) {
      const text = 'x'.repeat(shift) + unit.repeat(LENGTH / unit.length)
      const stream = streams.stream(`s${shift}`)
      await stream.create({ encoding: 'utf8' })
      await stream.append(text)
      const answer = await fetch(new Request(`http://host.example/s${shift}?offset=-1&live=sse`))
      expect((await dataOf(answer)) === text.replace(/\r\n?/g, '\n')).toBe(true)
    }
  },
)

test('long data that is no text is sent in base64, without padding inside it', async () => {
  const { streams } = await scratchStreams({ durability: 'memory' })
  const { fetch } = streamsHandler(streams)
  const bytes = Buffer.from(Array.from({ length: LENGTH }, (_, at) => at % 251))
  await streams.stream('s').create({ encoding: 'buffer' })
  await streams.stream('s').append(bytes)
  const answer = await fetch(new Request('http://host.example/s?offset=-1&live=sse'))
  expect(await dataOf(answer)).toBe(bytes.toString('base64'))
})
