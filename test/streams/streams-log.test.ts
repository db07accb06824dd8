/** The logs of a folder of streams, opened with `open` of the library. */
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { open, trim } from '../../src/index.js'
import { openUntilDone, scratchDir } from '../fixtures/scratch.js'
import { all, scratchStreams, values } from '../fixtures/streams.js'

const refusal = { code: 'ERR_DURLOG_NOT_A_LOG', message: expect.stringContaining('openStreams()') }

test.each(['log', 'catalog'])(
  '%s of a folder of streams is refused to writers of a log, and can be read',
  async (name) => {
    const { dir, streams, reopen } = await scratchStreams()
    await streams.stream('a').append(1)
    const path = join(dir, name)
    const refused = async (): Promise<void> => {
      await expect(open(path)).rejects.toMatchObject({ ...refusal, path })
      await expect(open(path, { shared: true, waitMs: 10 })).rejects.toMatchObject(refusal)
      await expect(trim(path, { before: 1, waitMs: 10 })).rejects.toMatchObject(refusal)
      const log = await openUntilDone(path, { readOnly: true })
      expect((await all(log.read())).length).toBeGreaterThan(0)
    }
    await refused()
    await streams.close()
    await refused()
    expect(await values((await reopen()).stream('a').read())).toEqual([1])
  },
)

test('the main log of a folder of streams is refused through a link, too', async () => {
  const { dir, streams } = await scratchStreams()
  await streams.stream('a').append(1)
  const link = join(scratchDir(), 'link')
  symlinkSync(join(dir, 'log'), link)
  await expect(open(link)).rejects.toMatchObject(refusal)
})

test('a log in a folder named log or catalog is an ordinary log', async () => {
  const dir = scratchDir()
  for (const name of ['log', 'catalog']) {
    await (await openUntilDone(join(dir, name))).append('x')
    expect(existsSync(join(dir, name, 'lock'))).toBe(true)
  }
})
