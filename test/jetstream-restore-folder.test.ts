import { readFileSync, renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { enterFolder, markFolder, unmarkFolder } from '../src/support/restore-folder.js'
import { scratchDir } from './fixtures/scratch.js'

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

const MARK = { stream: 'S', subject: 's', uuid: 'u', first: 3 }

describe('the mark of an unfinished restore', () => {
  test('is on the device before the first record, and is removed from the device', async () => {
    const dir = join(scratchDir(), 'log')
    expect(enterFolder(dir)).toBeUndefined()
    calls.length = 0
    await markFolder(dir, MARK)
    expect(calls).toEqual(['write restoring.new', 'sync restoring.new', 'rename restoring.new restoring', 'sync log'])
    expect(JSON.parse(readFileSync(join(dir, 'restoring'), 'utf8'))).toEqual(MARK)
    expect(enterFolder(dir)).toEqual(MARK)
    calls.length = 0
    await unmarkFolder(dir)
    expect(calls).toEqual(['remove restoring', 'sync log'])
    expect(enterFolder(dir)).toBeUndefined()
  })
})
