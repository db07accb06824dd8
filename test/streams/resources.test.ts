/** A lack of a resource is reported with its code, and after it every call works again. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { native } from '../../src/native/native.js'
import { openStreams } from '../../src/streams/index.js'
import { ofFileSystem } from '../../src/support/file-system-error.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'

const onLinux = process.platform === 'linux' ? test : test.skip

/** Windows has no quota error. */
const QUOTA = process.platform === 'win32' ? [] : [['EDQUOT', 'ERR_DURLOG_NO_SPACE', /./] as const]

test.each([
  ['ENOSPC', 'ERR_DURLOG_NO_SPACE', /free some space/],
  ...QUOTA,
  ['EFBIG', 'ERR_DURLOG_NO_SPACE', /./],
  ['EMFILE', 'ERR_DURLOG_TOO_MANY_FILES', /raise the limit/],
  ['ENFILE', 'ERR_DURLOG_TOO_MANY_FILES', /raise the limit/],
  ['ENOMEM', 'ERR_DURLOG_OUT_OF_MEMORY', /./],
  ['ENOTDIR', 'ERR_DURLOG_NOT_A_LOG', /a file is in the place of this folder/],
  ['EACCES', 'ERR_DURLOG_IO', /the user of this process needs the right/],
  ['EROFS', 'ERR_DURLOG_IO', /mount the file system with rw, or choose a folder/],
  ['EIO', 'ERR_DURLOG_IO', /./],
] as const)('an error %s of Node gets the code and the text of the core', (errnoName, code, text) => {
  const errno = constants.errno[errnoName]
  const name = errnoName === 'EDQUOT' ? `Unknown system error -${errno}` : errnoName
  const ofNode = Object.assign(new Error('no'), { code: name, errno: -errno, syscall: 'write', path: '/f' })
  const ofCore = native.errorOfErrno(errno)
  expect(ofCore).toMatchObject({ code, errno, errnoName, message: expect.stringMatching(text) })
  const message = `write: ${ofCore.message} [/f]`
  expect(ofFileSystem(ofNode)).toMatchObject({ code, message, errnoName, errno, syscall: 'write', path: '/f' })
})

onLinux.each([true, false])(
  'without a free file descriptor calls fail with ERR_DURLOG_TOO_MANY_FILES (exclusive: %s)',
  (exclusive) => {
    const child = fileURLToPath(new URL('descriptors-child.mjs', import.meta.url))
    const dir = join(scratchDir(), 'streams')
    const command = `ulimit -n 128; exec "${process.execPath}" "${child}" "${dir}" ${exclusive}`
    const lines = execFileSync('bash', ['-c', command], { timeout: 60_000 }).toString().trim().split('\n')
    expect(lines).toEqual([...Array(3).fill('ERR_DURLOG_TOO_MANY_FILES'), 'none none'])
  },
)

test.each([true, false])(
  'opening a path that is a file fails with ERR_DURLOG_NOT_A_LOG (exclusive: %s)',
  async (exclusive) => {
    const path = join(scratchDir(), 'file')
    writeFileSync(path, '')
    expect(await codeOf(openStreams(path, { exclusive }))).toBe('ERR_DURLOG_NOT_A_LOG')
  },
)

onLinux.each([true, false])('the files of abandoned readers are closed (exclusive: %s)', (exclusive) => {
  const child = fileURLToPath(new URL('abandoned-child.mjs', import.meta.url))
  const args = ['--expose-gc', child, join(scratchDir(), 'streams'), String(exclusive)]
  expect(execFileSync(process.execPath, args, { timeout: 60_000 }).toString().trim()).toBe('0 0')
})

onLinux('a process without a free file descriptor while the owner is killed works again when it has some', () => {
  const child = fileURLToPath(new URL('handover-child.mjs', import.meta.url))
  const command = `ulimit -n 128; exec "${process.execPath}" "${child}" "${join(scratchDir(), 'streams')}"`
  const output = execFileSync('bash', ['-c', command], { timeout: 60_000 }).toString()
  const [first, during, again, after, value] = JSON.parse(output) as unknown[]
  expect([first, during, again, value]).toEqual([0, 'ERR_DURLOG_TOO_MANY_FILES', 'ERR_DURLOG_TOO_MANY_FILES', 4])
  expect(after).toBeGreaterThan(0)
})
