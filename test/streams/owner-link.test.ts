/** A client's link to the owner of a folder. */
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DurlogError } from '../../src/errors.js'
import { FrameMaker } from '../../src/streams/processes/frames.js'
import type { OwnerHost } from '../../src/streams/processes/owner-host.js'
import { OwnerLink } from '../../src/streams/processes/owner-link.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'

/** The link of a client that finds no owner and cannot become it. */
function lonelyLink(): OwnerLink {
  const host: Pick<OwnerHost, 'becomeOwner' | 'close' | 'lockedBy'> = {
    becomeOwner: () => Promise.reject(new DurlogError('ERR_DURLOG_LOCKED', 'locked')),
    close: () => Promise.resolve(),
    lockedBy: () => Promise.resolve(0),
  }
  return new OwnerLink({
    dir: join(scratchDir(), 'missing'),
    host: host as OwnerHost,
    durability: 'sync',
    encoding: undefined,
    onWelcome: () => {},
    onEvent: () => {},
    onStalled: () => {},
  })
}

test('requests that wait for their answers and hold too much memory leave no room for another one', async () => {
  const link = lonelyLink()
  const bytes = Buffer.alloc(0)
  const submit = (end: number): Promise<string> =>
    codeOf(new Promise((resolve) => link.submit(() => ({ bytes, start: 0, end }), resolve, resolve)))
  const waiting = [submit(2 ** 27), submit(2 ** 27)]
  expect(await submit(1)).toBe('ERR_DURLOG_BACKPRESSURE')
  expect(await Promise.all(waiting)).toEqual(Array(2).fill('ERR_DURLOG_LOCKED'))
  const next = submit(1)
  await link.close()
  expect(await next).toBe('ERR_DURLOG_LOCKED')
})

test('other calls that wait for their answers and hold too much memory leave no room for another one', async () => {
  const link = lonelyLink()
  const long = { bytes: Buffer.alloc(0), start: 0, end: 2 ** 27 } as FrameMaker
  const spy = vi.spyOn(FrameMaker.prototype, 'json').mockReturnValue(long)
  onTestFinished(() => spy.mockRestore())
  const call = (): Promise<string> => codeOf(link.call({ op: 'stats' }))
  const waiting = [call(), call()]
  expect(await call()).toBe('ERR_DURLOG_BACKPRESSURE')
  expect(await Promise.all(waiting)).toEqual(Array(2).fill('ERR_DURLOG_LOCKED'))
  await link.close()
})
