/** The owner of a folder: in the main thread of a program, as in a bundle, and in a separate thread. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openExclusive } from '../../src/streams/api/open-streams.js'
import { OwnerHost } from '../../src/streams/processes/owner-host.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'

test('a process that closes the folder while it becomes the owner releases the folder', async () => {
  const dir = join(scratchDir(), 'streams')
  const host = new OwnerHost(dir, { durability: 'sync' })
  const client = '0123456789abcdef'
  const owning = host.becomeOwner(client, performance.now(), 0, undefined)
  await host.close(client)
  await owning.catch(() => {})
  expect(await codeOf(openExclusive(dir, { waitMs: 0 }, {}).then((store) => store.close()))).toBe('none')
})

test('a process that closes the folder while its thread becomes the owner releases the folder', () => {
  const child = fileURLToPath(new URL('closing-host-child.mjs', import.meta.url))
  const args = [child, join(scratchDir(), 'streams')]
  expect(execFileSync(process.execPath, args, { timeout: 60_000 }).toString().trim()).toBe('released')
})

test('a folder that was closed is not opened by an attempt to become its owner that begins later', async () => {
  const host = new OwnerHost(join(scratchDir(), 'streams'), { durability: 'sync' })
  const client = '0123456789abcdef'
  await host.close(client)
  expect(await codeOf(host.becomeOwner(client, performance.now(), 0, undefined))).toBe('ERR_DURLOG_CLOSED')
})
