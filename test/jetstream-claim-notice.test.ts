import { expect, test } from 'vitest'
import { ClaimWatch } from '../src/jetstream/claim-notice.js'
import type { LiveLink } from '../src/jetstream/nats-link.js'

test('only a notice of the same log whose generation is a later number stops a writer', async () => {
  const uuid = 'b8c1f9e2-5a4d-4c0b-9a55-0d3f1e6c7a21'
  const writer = { uuid, generation: 2 }
  const stale = [
    JSON.stringify({ uuid, generation: '9' }),
    JSON.stringify({ uuid, generation: null }),
    JSON.stringify({ uuid, generation: 1 }),
    JSON.stringify({ uuid, generation: 2 }),
    JSON.stringify({ uuid: 'another log', generation: 9 }),
    'null',
    '{"uuid":',
    '',
  ]
  const notices = [...stale, JSON.stringify({ uuid, generation: 3 })]
  const getMessage = async (): Promise<{ data: Buffer }> => ({ data: Buffer.from(notices.shift() as string) })
  const claimed: number[] = []
  let isClaimed = false
  const watch = new ClaimWatch(
    { manager: { streams: { getMessage } } } as unknown as LiveLink,
    { stream: 'S', subject: 's' },
    (generation) => {
      claimed.push(generation)
      isClaimed = notices.length === 0
    },
  )
  while (!isClaimed) {
    for (let publish = 0; publish < 64 && notices.length > 0; publish++) watch.onPublish(writer)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(claimed).toEqual([3])
})
