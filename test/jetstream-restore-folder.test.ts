import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { rejoin as rejoinArchive, restoreArchive } from '../src/archive/index.js'
import { rejoin, restore } from '../src/jetstream/index.js'
import { MARK_CHECKS } from '../src/jetstream/restore-options.js'
import { enterFolder, markFolder, unmarkFolder } from '../src/support/restore-folder.js'
import { codeOf, scratchDir } from './fixtures/scratch.js'

const calls = vi.hoisted(() => [] as string[])
/** The names of the files and folders that were opened, by descriptor. */
const opened = vi.hoisted(() => new Map<number, string>())

vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof import('node:fs/promises')>()
  return {
    ...fs,
    open: async (path: string, ...rest: [flags: string, mode?: number]) => {
      const file = await fs.open(path, ...rest)
      opened.set(file.fd, basename(path))
      const write = file.writeFile.bind(file)
      file.writeFile = async (text) => {
        calls.push(`write ${basename(path)}`)
        await write(text)
      }
      return file
    },
    rm: async (path: string, options: object) => {
      calls.push(`remove ${basename(path)}`)
      await fs.rm(path, options)
    },
  }
})

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  return {
    ...fs,
    fsync: (descriptor: number, done: (error: Error | null) => void) => {
      calls.push(`sync ${opened.get(descriptor)}`)
      fs.fsync(descriptor, done)
    },
  }
})

vi.mock('../src/support/rename.js', () => ({
  rename: async (from: string, to: string) => {
    calls.push(`rename ${basename(from)} ${basename(to)}`)
    renameSync(from, to)
  },
}))

const MARK = { stream: 'S', subject: 's', uuid: '01234567-89ab-cdef-0123-456789abcdef', first: 3 }

describe('the mark of an unfinished restore', () => {
  test('is on the device before the first record, and is removed from the device', async () => {
    const dir = join(scratchDir(), 'log')
    expect(enterFolder(dir, MARK_CHECKS)).toBeUndefined()
    calls.length = 0
    await markFolder(dir, MARK)
    expect(calls).toEqual(['write restoring.new', 'sync restoring.new', 'rename restoring.new restoring', 'sync log'])
    expect(JSON.parse(readFileSync(join(dir, 'restoring'), 'utf8'))).toEqual(MARK)
    expect(enterFolder(dir, MARK_CHECKS)).toEqual(MARK)
    calls.length = 0
    await unmarkFolder(dir)
    expect(calls).toEqual(['remove restoring', 'sync log'])
    expect(enterFolder(dir, MARK_CHECKS)).toBeUndefined()
  })

  test.each([
    '',
    '{',
    'null',
    '[]',
    '{"stream":"S","subject":"s","uuid":"../x","first":0}',
    '{"archive":"u","first":-1}',
  ])('is checked before it is used: %s', async (text) => {
    const dir = scratchDir()
    const into = scratchDir()
    writeFileSync(join(dir, 'restoring'), text)
    const bucket = {
      endpoint: 'http://127.0.0.1:1',
      bucket: 's3://b/p',
      credentials: { accessKeyId: 'a', secretAccessKey: 's' },
    }
    const nats = { servers: 'nats://127.0.0.1:1', stream: 'S', subject: 's' }
    const codes = [
      await codeOf(restoreArchive(dir, bucket)),
      await codeOf(rejoinArchive(dir, { ...bucket, into })),
      await codeOf(restore(dir, nats)),
      await codeOf(rejoin(dir, { ...nats, into })),
    ]
    expect(codes).toEqual(Array(4).fill('ERR_DURLOG_CORRUPT'))
  })
})
