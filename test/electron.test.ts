/**
 * durlog in Electron. Runs if DURLOG_ELECTRON names an Electron binary and there is a display: `npm run test:electron`.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { verify } from '../src/index.js'
import { missingElectron, playInElectron, type Told } from './fixtures/electron.js'
import { openUntilDone, scratchDir } from './fixtures/scratch.js'

const missing = missingElectron()
if (missing !== '') process.stdout.write(`skipped: Electron: ${missing}\n`)
const inElectron = test.skipIf(missing !== '')

inElectron.for([
  ['main', 'folder', 'the main process and a worker of it'],
  ['utility', 'folder', 'a utility process and a worker of it'],
  ['preload', 'folder', 'a preload script without sandbox'],
  ['main', 'archive', 'the main process, packed as asar with its binary unpacked'],
  ['utility', 'archive', 'a utility process, packed as asar with its binary unpacked'],
  ['preload', 'archive', 'a preload script, packed as asar with its binary unpacked'],
] as const)('a log lives its life (%s, %s) in %s', async ([scenario, packing]) => {
  const { told, code, signal } = await playInElectron(scenario, scratchDir(), packing)
  expect(told).toEqual([{ done: expect.stringMatching(/^ok linux x64 v/) }])
  expect({ code, signal }).toEqual({ code: 0, signal: null })
})

inElectron('the window of the example application appends an entry, which the next start reads', async () => {
  const folder = scratchDir()
  for (const line of ['first|', 'first|']) {
    const { told, code } = await playInElectron('example', folder)
    expect([told, code]).toEqual([[{ done: `${line} function` }], 0])
  }
  const log = await openUntilDone(join(folder, 'user', 'history'), { readOnly: true, encoding: 'json' })
  expect(log.nextSeq).toBe(2)
})

const lastAcknowledged = (told: readonly Told[], from: string): number =>
  told.reduce((last, event) => (event.from === from ? Math.max(last, event.acknowledged ?? -1) : last), -1)

/** Checks that the log at `dir` holds every acknowledged record unchanged. */
async function expectKept(dir: string, last: number): Promise<void> {
  // The process of a window may outlive the application's main process for a moment.
  const log = await openUntilDone(dir, { waitMs: 30_000 })
  expect(log.recovery.state).toMatch(/^(clean|torn-tail)$/)
  expect(last).toBeGreaterThan(0)
  expect(log.nextSeq).toBeGreaterThan(last)
  let seq = log.firstSeq
  for await (const record of log.read()) expect(record.seq).toBe(seq++)
  expect(seq).toBe(log.nextSeq)
  await log.close()
  expect((await verify(dir)).state).toBe('clean')
}

inElectron('a window reloaded with appends in flight loses nothing that was acknowledged', async () => {
  const folder = scratchDir()
  const { told, code, signal } = await playInElectron('reload', folder)
  // The window acknowledges appends until the application has quit.
  expect(told.filter(({ acknowledged }) => acknowledged === undefined)).toEqual([{ done: 'reloaded' }])
  expect({ code, signal }).toEqual({ code: 0, signal: null })
  await expectKept(join(folder, 'window'), lastAcknowledged(told, 'window'))
})

inElectron('an application that quits with appends in flight ends well and keeps what was acknowledged', async () => {
  const folder = scratchDir()
  const { told, code, signal } = await playInElectron('quit', folder)
  expect(told.filter(({ failed }) => failed !== undefined)).toEqual([])
  expect({ code, signal }).toEqual({ code: 0, signal: null })
  await expectKept(join(folder, 'main'), lastAcknowledged(told, 'main'))
  await expectKept(join(folder, 'window'), lastAcknowledged(told, 'window'))
})
