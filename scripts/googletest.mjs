// Finds the sources of GoogleTest: in the folder that GTEST_DIR names, or from the system's package. On Debian and
// Ubuntu, it downloads the package with apt-get into the cache folder, which does not require root.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { env } from 'node:process'
import { cacheFolder } from './cache.mjs'

const INSTALLED = 'usr/src/googletest/googletest'
const REMEDY = 'install libgtest-dev (Debian, Ubuntu), or set GTEST_DIR to the folder googletest of its sources'

function isThere(folder) {
  return existsSync(join(folder, 'src/gtest-all.cc'))
}

function downloadPackage(folder) {
  mkdirSync(cacheFolder(), { recursive: true })
  const making = mkdtempSync(`${folder}-`)
  try {
    // By default, apt-get downloads as the user _apt, which cannot write to this folder.
    const options = { cwd: making, stdio: ['ignore', 'ignore', 'pipe'] }
    execFileSync('apt-get', ['download', '-o', 'APT::Sandbox::User=root', 'googletest'], options)
    const [deb] = readdirSync(making)
    execFileSync('dpkg-deb', ['-x', deb, 'unpacked'], options)
    if (!isThere(join(folder, INSTALLED))) renameSync(join(making, 'unpacked'), folder)
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
}

export class NoGoogleTest extends Error {}

/** The folder that holds GoogleTest's include/ and src/. Throws NoGoogleTest with the remedy. */
export function googletestFolder() {
  if (env.GTEST_DIR) {
    if (isThere(env.GTEST_DIR)) return env.GTEST_DIR
    throw new Error(`GTEST_DIR is ${env.GTEST_DIR}, which has no src/gtest-all.cc`)
  }
  if (isThere(join('/', INSTALLED))) return join('/', INSTALLED)
  const folder = cacheFolder('googletest')
  const sources = join(folder, INSTALLED)
  if (isThere(sources)) return sources
  try {
    downloadPackage(folder)
  } catch (error) {
    throw new NoGoogleTest(`GoogleTest is not installed, and apt-get cannot download it (${error.message}): ${REMEDY}`)
  }
  return sources
}
