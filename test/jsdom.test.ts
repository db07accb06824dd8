/** durlog in a window of jsdom with a browser's globals, as in a test file with Jest's environment jsdom. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runInContext } from 'node:vm'
import { expect, test } from 'vitest'
import { openWindow, requireIn } from './fixtures/jsdom.js'
import { scratchDir, texts } from './fixtures/scratch.js'

const LEVELS = ['memory', 'async', 'sync', 'full'] as const

test.each([{}, { commitDelayMicros: 200 }, { commitDelayMicros: 2000 }, { shared: true }] as const)(
  'a log opens, appends, follows and closes in a window of jsdom (%o)',
  async (options) => {
    const { open, verify } = requireIn(openWindow())
    const dir = join(scratchDir(), 'log')
    const log = await open(dir, { segmentBytes: 65_536, ...options })
    const following = (async () => {
      let last = -1
      for await (const { seq } of log.read({ follow: true })) {
        last = seq
        if (seq === 2003) break
      }
      return last
    })()
    for (const durability of LEVELS) await log.append(durability, { durability })
    // More appends than one turn of the event loop settles.
    await Promise.all(Array.from({ length: 2000 }, (_, i) => log.append(`record ${i}`)))
    expect(await following).toBe(2003)
    expect((await texts(log.read())).slice(0, 4)).toEqual(LEVELS)
    await log.close()
    expect((await verify(dir)).state).toBe('clean')
  },
)

test('bytes, a folder and a date of either realm are accepted', async () => {
  const window = openWindow()
  const { open } = requireIn(window)
  const dir = join(scratchDir(), 'log')
  const own = <T>(code: string): T => runInContext(code, window) as T
  const log = await open(pathToFileURL(dir))
  const payloads = [Buffer.from('a'), new Uint8Array([97]), own<Uint8Array>('new Uint8Array([97])')]
  for (const payload of payloads) await log.append(payload)
  await log.appendBatch(payloads)
  for (const payload of payloads) log.write(payload)
  expect(await texts(log.read())).toEqual(Array(9).fill('a'))
  const abort = [AbortSignal.abort('stopped'), own<AbortSignal>('AbortSignal.abort("stopped")')]
  for (const signal of abort) await expect(log.append('a', { signal })).rejects.toBe('stopped')
  for (const time of [new Date(0), own<Date>('new Date(0)')]) expect(await log.seqAt(time)).toBe(0)
  await log.close()
  const url = own<URL>(`new URL(${JSON.stringify(pathToFileURL(dir).href)})`)
  const encoded = await open(url, { encoding: 'buffer' })
  for (const payload of payloads) await encoded.append(payload as Uint8Array & Buffer)
  await encoded.close()
})

test('a record that cannot be converted to bytes in another realm is refused', async () => {
  const { open } = requireIn(openWindow())
  const log = await open(join(scratchDir(), 'log'))
  for (const data of [new ArrayBuffer(4), new Int8Array(4), { length: 4 }, [1, 2]] as never[]) {
    await expect(log.append(data)).rejects.toMatchObject({ code: 'ERR_DURLOG_INVALID_ARGUMENT' })
  }
  await log.close()
})
