/** The readers of published binaries and of linkers' reports, with small files and reports made here. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { linkedArchives } from '../scripts/prebuilds/linked.mjs'
import { readMacho } from '../scripts/prebuilds/macho.mjs'
import { noticesOf } from '../scripts/prebuilds/notices.mjs'

describe('the third-party notices', () => {
  test('name the libraries of which the linker of a Linux binary took a section', () => {
    const map = [
      '      270      270      ee8     8 .dynsym',
      '    11d24    11d24       20     1         build/zig/o/bc44/libc_nonshared.a(build/zig/o/b240/fstat-2.32.o):(.text)',
      '    12d24    12d24       20     1         build/zig/o/621f/libc++.a(build/zig/o/70/string.o):(.text._ZNSt3__1)',
      '    13d24    13d24       20     1         build/zig/o/eb51/libc++abi.a(build/zig/o/70/stdlib_stdexcept.o):(.text)',
      '    14d24    14d24       20     1         build/zig/o/621f/libc++.a(build/zig/o/71/mutex.o):(.text)',
    ]
    expect(linkedArchives({ format: 'elf' }, map.join('\n'))).toEqual(['c++', 'c++abi', 'c_nonshared'])
  })

  test('name the libraries that the linker of a macOS binary was given', () => {
    const line =
      'zig ld -dylib -o durlog.node main.o build/zig/o/25/libc++abi.a build/zig/o/a1/libc++.a -lSystem b/libcompiler_rt.a\n'
    expect(linkedArchives({ format: 'macho' }, line)).toEqual(['c++', 'c++abi', 'compiler_rt'])
  })

  test('have each library once, with the binaries that contain it and its licence', () => {
    const linked = [
      { target: 'linux-x64', archives: ['c++', 'c_nonshared'] },
      { target: 'darwin-arm64', archives: ['c++', 'c++abi'] },
    ]
    const text = noticesOf(linked, ({ name }) => `The licence of ${name}.`)
    expect(text.match(/^in the binaries .*$/gm)).toEqual([
      'in the binaries linux-x64, darwin-arm64',
      'in the binaries linux-x64, darwin-arm64',
      'in the binaries darwin-arm64',
      'in the binaries linux-x64',
    ])
    expect(text.match(/^The licence of \S+/gm)).toEqual([
      'The licence of node-addon-api',
      'The licence of libc++',
      'The licence of libc++abi',
      'The licence of the',
    ])
  })

  test('are not written while a library of a binary has no licence in the list', () => {
    const linked = [{ target: 'linux-x64', archives: ['c++', 'new'] }]
    expect(() => noticesOf(linked, () => '')).toThrow('no licence is known for new (linux-x64)')
  })
})

describe('the signature of a macOS binary', () => {
  const PAGE_BYTES = 4096
  const BEGIN = 2 * PAGE_BYTES + 100

  /** A Mach-O file of three pages and its ad hoc signature. */
  function signedFile(): Buffer {
    const file = Buffer.alloc(BEGIN + 12 + 8 + 44 + 3 * 32)
    for (const [at, value] of [0xfeedfacf, 0x0100000c, 0, 6, 1, 16, 0, 0, 0x1d, 16, BEGIN].entries())
      file.writeUInt32LE(value, at * 4)
    file.write('code', PAGE_BYTES + 8)
    const hashes = [0, 1, 2].map((page) =>
      createHash('sha256')
        .update(file.subarray(page * PAGE_BYTES, Math.min((page + 1) * PAGE_BYTES, BEGIN)))
        .digest(),
    )
    const directory = [0xfade0c02, 44 + 96, 0x20400, 0x20002, 44, 0, 0, 3, BEGIN]
    const numbers = [0xfade0cc0, 20 + 44 + 96, 1, 0, 20, ...directory]
    for (const [i, value] of numbers.entries()) file.writeUInt32BE(value, BEGIN + i * 4)
    file.set([32, 2, 0, 12], BEGIN + 20 + 36)
    file.set(Buffer.concat(hashes), BEGIN + 20 + 44)
    return file
  }

  test('is accepted if it has the hash of each page', () => {
    expect(readMacho(signedFile()).signature).toBeUndefined()
  })

  test.each([
    ['one byte of a page was changed', PAGE_BYTES + 8, 'has a signature that does not fit the bytes of page 1'],
    ['the last byte before it was changed', BEGIN - 1, 'has a signature that does not fit the bytes of page 2'],
    ['it is at another place', BEGIN, 'has no signature where its header says'],
    ['it is not ad hoc', BEGIN + 20 + 15, 'has a signature that is not ad hoc'],
    ['it covers less than the file', BEGIN + 20 + 35, 'has a signature of another length'],
  ])('is refused if %s', (_what, at, problem) => {
    const file = signedFile()
    file[at] = (file[at] as number) ^ 0xff
    expect(readMacho(file).signature).toBe(problem)
  })

  test('is reported as missing if the file has none', () => {
    const file = signedFile()
    file.writeUInt32LE(0x1b, 32)
    expect(readMacho(file).signature).toBe('is not signed')
  })
})
