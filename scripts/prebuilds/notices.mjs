// Writes THIRD-PARTY-NOTICES.txt, with the licence of each library that a published binary contains, and sbom.cdx.json,
// with the packages that npm installs. `npm pack` runs it.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chdir } from 'node:process'
import { fileURLToPath } from 'node:url'
import { TARGETS } from './targets.mjs'
import { installZig, ZIG_VERSION, zigFolder } from './zig.mjs'

/** `license` is the file of the text; `binaries` says which targets link the library. */
function libraries() {
  const zig = (path) => join(zigFolder(), path)
  const all = () => true
  return [
    { name: 'node-addon-api (MIT)', license: 'node_modules/node-addon-api/LICENSE.md', binaries: all },
    { name: `compiler-rt of zig ${ZIG_VERSION} (MIT)`, license: zig('LICENSE'), binaries: all },
    { name: 'libc++ (Apache-2.0 with LLVM exception)', license: zig('lib/libcxx/LICENSE.TXT'), binaries: all },
    {
      name: 'libc++abi (Apache-2.0 with LLVM exception)',
      license: zig('lib/libcxxabi/LICENSE.TXT'),
      // The others link scripts/prebuilds/no_exceptions.cc in its place.
      binaries: ({ system }) => system === 'mac',
    },
    {
      name: "mingw-w64's runtime (ZPL 2.1 and others)",
      license: zig('lib/libc/mingw/COPYING'),
      binaries: ({ system }) => system === 'win',
    },
  ]
}

function noticeOf({ name, license, binaries }) {
  const linked = TARGETS.filter(binaries).map((target) => target.name)
  const rule = '-'.repeat(80)
  return `${rule}\n${name}\nin the binaries ${linked.join(', ')}\n${rule}\n\n${readFileSync(license, 'utf8').trim()}\n`
}

/** The packages of the lock file that npm installs with durlog, as CycloneDX. */
function billOfMaterials() {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--omit', 'peer', '--package-lock-only']
  return execFileSync('npm', args, { encoding: 'utf8', shell: process.platform === 'win32' })
}

chdir(fileURLToPath(new URL('../..', import.meta.url)))
if (!existsSync('prebuilds') || readdirSync('prebuilds').length === 0) {
  console.log('no notices are written: there are no binaries in prebuilds')
} else {
  installZig()
  const head = 'The binaries of durlog contain parts of these libraries.\n'
  writeFileSync('THIRD-PARTY-NOTICES.txt', [head, ...libraries().map(noticeOf)].join('\n'))
  writeFileSync('sbom.cdx.json', billOfMaterials())
}
