// Writes THIRD-PARTY-NOTICES.txt, with the licence of each library that a published binary contains, and sbom.cdx.json,
// with the packages that npm installs with durlog. `npm pack` runs this script.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { argv, chdir } from 'node:process'
import { fileURLToPath } from 'node:url'
import { readLinked } from './linked.mjs'
import { TARGETS } from './targets.mjs'
import { installZig, ZIG_VERSION, zigFolder } from './zig.mjs'

const HEAD = 'The binaries of durlog contain parts of these libraries.\n'
/** A library of headers only, which every binary contains although the linker reports no archive for it. */
const HEADERS = 'node-addon-api'

/** The libraries that a binary may contain: name, and path of the licence below zig's folder or the repository. */
const LIBRARIES = {
  [HEADERS]: { name: 'node-addon-api (MIT)', license: 'node_modules/node-addon-api/LICENSE.md' },
  'c++': { name: 'libc++ (Apache-2.0 with LLVM exception)', zig: 'lib/libcxx/LICENSE.TXT' },
  'c++abi': { name: 'libc++abi (Apache-2.0 with LLVM exception)', zig: 'lib/libcxxabi/LICENSE.TXT' },
  unwind: { name: 'libunwind (Apache-2.0 with LLVM exception)', zig: 'lib/libunwind/LICENSE.TXT' },
  compiler_rt: { name: `compiler-rt of zig ${ZIG_VERSION} (MIT)`, zig: 'LICENSE' },
  zigc: { name: `the C library of zig ${ZIG_VERSION} (MIT)`, zig: 'LICENSE' },
  c_nonshared: {
    name: 'the part of glibc that is linked into programs (LGPL-2.1 with an exception that permits it)',
    zig: 'lib/libc/glibc/LICENSES',
  },
  mingw32: { name: "mingw-w64's runtime (ZPL 2.1 and others)", zig: 'lib/libc/mingw/COPYING' },
}

/**
 * The text of the notices. `linked` has the archives of each target; `licenseOf` returns the text of a library's
 * licence. Throws if LIBRARIES does not contain an archive.
 */
export function noticesOf(linked, licenseOf) {
  const unknown = linked.flatMap(({ target, archives }) =>
    archives.filter((name) => !Object.hasOwn(LIBRARIES, name)).map((name) => `${name} (${target})`),
  )
  if (unknown.length > 0) throw new Error(`no licence is known for ${unknown.join(', ')}: add it to LIBRARIES`)
  const rule = '-'.repeat(80)
  const notices = Object.entries(LIBRARIES).flatMap(([key, library]) => {
    const targets = linked
      .filter(({ archives }) => key === HEADERS || archives.includes(key))
      .map(({ target }) => target)
    if (targets.length === 0) return []
    const title = `${library.name}\nin the binaries ${targets.join(', ')}`
    return [`${rule}\n${title}\n${rule}\n\n${licenseOf(library).trim()}\n`]
  })
  return [HEAD, ...notices].join('\n')
}

/** A CycloneDX document with the packages of the lock file that npm installs with durlog. */
function billOfMaterials() {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--omit', 'peer', '--package-lock-only']
  return execFileSync('npm', args, { encoding: 'utf8', shell: process.platform === 'win32' })
}

function main() {
  chdir(fileURLToPath(new URL('../..', import.meta.url)))
  const built = existsSync('prebuilds') ? readdirSync('prebuilds') : []
  if (built.length === 0) {
    console.log('no notices are written: prebuilds/ has no binaries')
    return
  }
  installZig()
  const linked = TARGETS.filter(({ name }) => built.includes(name)).map((target) => ({
    target: target.name,
    archives: readLinked(target),
  }))
  const licenseOf = ({ license, zig }) => readFileSync(license ?? join(zigFolder(), zig), 'utf8')
  writeFileSync('THIRD-PARTY-NOTICES.txt', noticesOf(linked, licenseOf))
  writeFileSync('sbom.cdx.json', billOfMaterials())
}

if (resolve(argv[1] ?? '') === fileURLToPath(import.meta.url)) main()
