// Where GoogleTest's sources are: from the system's package, or from Debian's, fetched once into
// build/ and checked against its hash. Needs no root and no package manager.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const SYSTEM = '/usr/src/googletest/googletest'
const PACKAGE = 'http://deb.debian.org/debian/pool/main/g/googletest/googletest_1.12.1-0.2_all.deb'
const SHA256 = '927be72067517da503b6538026d451455c9e860f5dbfe237f792543db7d5a928'

// A .deb is an `ar` archive; its member data.tar.* holds the files.
function dataMember(deb) {
  for (let at = 8; at + 60 <= deb.length; ) {
    const name = deb
      .toString('latin1', at, at + 16)
      .trim()
      .replace(/\/$/, '')
    const bytes = Number(deb.toString('latin1', at + 48, at + 58))
    if (name.startsWith('data.tar')) return deb.subarray(at + 60, at + 60 + bytes)
    at += 60 + bytes + (bytes % 2)
  }
  throw new Error(`no data.tar in ${PACKAGE}`)
}

async function fetchPackage(folder) {
  const response = await fetch(PACKAGE)
  if (!response.ok) throw new Error(`${PACKAGE}: HTTP ${response.status}`)
  const deb = Buffer.from(await response.arrayBuffer())
  const hash = createHash('sha256').update(deb).digest('hex')
  if (hash !== SHA256) throw new Error(`${PACKAGE}: sha256 is ${hash}, not ${SHA256}`)
  mkdirSync(folder, { recursive: true })
  const archive = join(folder, 'data.tar')
  writeFileSync(archive, dataMember(deb))
  // Python unpacks xz everywhere; tar does only where xz is installed.
  execFileSync('python3', [
    '-c',
    'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])',
    archive,
    folder,
  ])
}

/** The folder that holds GoogleTest's include/ and src/. */
export async function googletestFolder() {
  if (existsSync(join(SYSTEM, 'src/gtest-all.cc'))) return SYSTEM
  const folder = 'build/googletest'
  const unpacked = join(folder, 'usr/src/googletest/googletest')
  if (!existsSync(unpacked)) await fetchPackage(folder)
  readFileSync(join(unpacked, 'src/gtest-all.cc'))
  return unpacked
}
