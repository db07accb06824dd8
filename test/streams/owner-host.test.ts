/** The owner of a folder that runs in the main thread of a program, as in a bundle. */
import { join } from 'node:path'
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
