import { type PathLike, readFileSync, renameSync } from 'node:fs'
import { platform } from 'node:os'
import { basename, join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { enterFolder, markFolder, unmarkFolder } from '../src/ship/restore-folder.js'
import { scratchDir } from './fixtures/scratch.js'

const calls = vi.hoisted(() => [] as string[])

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const opened = new Map<number, string>()
  const nameOf = (path: PathLike): string => String(path).split('/').at(-1) ?? ''
  return {
    ...fs,
    openSync: (path: PathLike, ...rest: [flags: string, mode?: number]) => {
      const file = fs.openSync(path, ...rest)
      opened.set(file, nameOf(path))
      return file
    },
    writeSync: (file: number, text: string) => {
      calls.push(`write ${opened.get(file)}`)
      return fs.writeSync(file, text)
    },
    fsyncSync: (file: number) => {
      calls.push(`sync ${opened.get(file)}`)
      fs.fsyncSync(file)
    },
    rmSync: (path: PathLike, options: object) => {
      calls.push(`remove ${nameOf(path)}`)
      fs.rmSync(path, options)
    },
  }
})

vi.mock('../src/rename.js', () => ({
  rename: async (from: string, to: string) => {
    calls.push(`rename ${basename(from)} ${basename(to)}`)
    renameSync(from, to)
  },
}))

const MARK = { stream: 'S', subject: 's', uuid: 'u', first: 3 }

describe('the mark of an unfinished restore', () => {
  test.skipIf(platform() === 'win32')(
    'is on the device before the first record, and is removed from the device',
    async () => {
      const dir = join(scratchDir(), 'log')
      expect(enterFolder(dir)).toBeUndefined()
      calls.length = 0
      await markFolder(dir, MARK)
      expect(calls).toEqual(['write restoring.new', 'sync restoring.new', 'rename restoring.new restoring', 'sync log'])
      expect(JSON.parse(readFileSync(join(dir, 'restoring'), 'utf8'))).toEqual(MARK)
      expect(enterFolder(dir)).toEqual(MARK)
      calls.length = 0
      unmarkFolder(dir)
      expect(calls).toEqual(['remove restoring', 'sync log'])
      expect(enterFolder(dir)).toBeUndefined()
    },
  )
})
