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

  const SIGNATURE_BYTES = 28
  const DIRECTORY_BYTES = 44
  const HASHES = SIGNATURE_BYTES + DIRECTORY_BYTES
  const SLOT = 1

  function sha256(bytes: Buffer): Buffer {
    return createHash('sha256').update(bytes).digest()
  }

  function bigEndian(...numbers: number[]): Buffer {
    const bytes = Buffer.alloc(numbers.length * 4)
    for (const [i, value] of numbers.entries()) bytes.writeUInt32BE(value, i * 4)
    return bytes
  }

  /** A Mach-O file of three pages and its ad hoc signature, which has a code directory and one more blob. */
  function signedFile(): Buffer {
    const file = Buffer.alloc(BEGIN)
    for (const [at, value] of [0xfeedfacf, 0x0100000c, 0, 6, 1, 16, 0, 0, 0x1d, 16, BEGIN].entries())
      file.writeUInt32LE(value, at * 4)
    file.write('code', PAGE_BYTES + 8)
    const pages = [0, 1, 2].map((page) => file.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES))
    const blob = bigEndian(0xfade7171, 12, 7)
    const hashes = [blob, ...pages].map(sha256)
    const bytes = DIRECTORY_BYTES + hashes.length * 32
    const directory = bigEndian(0xfade0c02, bytes, 0x20400, 0x20002, DIRECTORY_BYTES + 32, 0, SLOT, 3, BEGIN, 0, 0)
    directory.set([32, 2, 0, 12], 36)
    const end = SIGNATURE_BYTES + bytes
    const signature = bigEndian(0xfade0cc0, end + blob.length, 2, 0, SIGNATURE_BYTES, SLOT, end)
    return Buffer.concat([file, signature, directory, ...hashes, blob])
  }

  test('is accepted if it has the hash of each page and blob', () => {
    expect(readMacho(signedFile()).signature).toBeUndefined()
  })

  test.each([
    ['one byte of a page was changed', PAGE_BYTES + 8, 'has a signature that does not fit the bytes of page 1'],
    ['the last byte before it was changed', BEGIN - 1, 'has a signature that does not fit the bytes of page 2'],
    ['it is at another place', BEGIN, 'has no signature where its header says'],
    ['it is not ad hoc', BEGIN + SIGNATURE_BYTES + 15, 'has a signature that is not ad hoc'],
    ['it covers less than the file', BEGIN + SIGNATURE_BYTES + 35, 'has a signature of another length'],
    ['a blob of it was changed', signedFile().length - 1, 'has a signature that does not fit its blob in slot 1'],
    ['the hash of a blob was changed', BEGIN + HASHES, 'has a signature that does not fit its blob in slot 1'],
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
