/** PUT: times of expiry, and requests that are repeated. */
import { expect, onTestFinished, test } from 'vitest'
import { type Served, seqOf, serveStreams } from '../fixtures/http.js'

async function serveUntilDone(): Promise<Served> {
  const served = await serveStreams()
  onTestFinished(() => served.stop())
  return served
}

test('a time of expiry is accepted only if RFC 3339 allows it, and HEAD returns the same moment', async () => {
  const { url } = await serveUntilDone()
  const expiryOf = async (at: string): Promise<unknown> => {
    const path = `${url}/${encodeURIComponent(at)}`
    const { status } = await fetch(path, { method: 'PUT', headers: { 'stream-expires-at': at } })
    return status === 201 ? (await fetch(path, { method: 'HEAD' })).headers.get('stream-expires-at') : status
  }
  expect(await expiryOf('9998-02-28T23:59:59Z')).toBe('9998-02-28T23:59:59.000Z')
  expect(await expiryOf('9996-02-29t00:00:00.125z')).toBe('9996-02-29T00:00:00.125Z')
  expect(await expiryOf('9998-01-01 05:30:00+05:30')).toBe('9998-01-01T00:00:00.000Z')
  for (const day of ['9998-02-29', '9998-02-30', '9998-04-31', '9998-13-01', '9998-00-10', '9998-01-00'])
    expect([day, await expiryOf(`${day}T00:00:00Z`)]).toEqual([day, 400])
  for (const time of ['24:00:00Z', '12:60:00Z', '12:00:00', '12:00Z', '12:00:00+24:00'])
    expect([time, await expiryOf(`9998-01-01T${time}`)]).toEqual([time, 400])
})

test('the creation of a stream that expires at once is answered as every other creation', async () => {
  const { url } = await serveUntilDone()
  const headers = { 'content-type': 'application/json', 'stream-closed': 'true' }
  for (const expiry of [{ 'stream-ttl': '0' }, { 'stream-expires-at': '2001-01-01T00:00:00Z' }]) {
    const created = await fetch(`${url}/s`, { method: 'PUT', headers: { ...headers, ...expiry }, body: '[1,2]' })
    expect(created.status).toBe(201)
    expect(Object.fromEntries(created.headers)).toMatchObject({
      'content-type': 'application/json',
      'stream-next-offset': expect.stringMatching(/^[0-9]{16}_0000000000000002$/),
      'stream-closed': 'true',
      location: `${url}/s`,
    })
    expect((await fetch(`${url}/s`)).status).toBe(404)
  }
})

test('the repeated creation of a fork succeeds after its source was deleted, and another fork is refused', async () => {
  const { url, streams } = await serveUntilDone()
  await streams.stream('source').append(1)
  const offset = (await fetch(`${url}/source`)).headers.get('stream-next-offset') as string
  const fork = async (name: string): Promise<unknown> => {
    const headers = { 'stream-forked-from': '/source', 'stream-fork-offset': offset }
    const answer = await fetch(`${url}/${name}`, { method: 'PUT', headers })
    return [answer.status, seqOf(answer.headers.get('stream-next-offset'))]
  }
  expect(await fork('fork')).toEqual([201, 1])
  expect((await fetch(`${url}/source`, { method: 'DELETE' })).status).toBe(204)
  expect(await fork('fork')).toEqual([200, 1])
  expect(await fork('other')).toEqual([409, -1])
})

test('the repeated creation of a fork with a sub-offset succeeds after its source was deleted', async () => {
  const { url, streams } = await serveUntilDone()
  await streams.stream('source').create({ encoding: 'buffer', values: [Buffer.from('hello')] })
  const fork = async (name: string, bytes: number): Promise<number> => {
    const headers = { 'stream-forked-from': '/source', 'stream-fork-offset': '0000000000000000_0000000000000000' }
    const sub = { 'stream-fork-sub-offset': String(bytes) }
    return (await fetch(`${url}/${name}`, { method: 'PUT', headers: { ...headers, ...sub } })).status
  }
  expect([await fork('part', 2), await fork('whole', 5)]).toEqual([201, 201])
  expect((await fetch(`${url}/source`, { method: 'DELETE' })).status).toBe(204)
  expect([await fork('part', 2), await fork('whole', 5)]).toEqual([200, 200])
  expect([await fork('part', 3), await fork('new', 2), await fork('new', 9)]).toEqual([409, 409, 400])
  expect(await (await fetch(`${url}/whole`)).text()).toBe('hello')
})
