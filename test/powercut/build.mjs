// Compiles the rig (C++17, libfuse3) into bin/, unless it is newer than its sources, and durlog's shim.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const flags = '-std=c++17 -O2 -g -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'.split(' ')

export const binFolder = join(here, 'bin')
/** What breaks durlog from outside, by LD_PRELOAD. */
export const shim = join(binFolder, 'broken_shim.so')
const shimSource = join(here, 'durlog', 'broken_shim.c')

function modified(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function compileRig(sources, compilerFlags, libraries) {
  const output = join(binFolder, 'powercut')
  const inputs = readdirSync(here).filter((name) => /\.(cc|h)$|^build/.test(name))
  const newest = Math.max(...inputs.map((name) => modified(join(here, name))))
  if (modified(output) > newest) return
  execFileSync('g++', [...flags, ...compilerFlags, ...sources, '-o', output, ...libraries], {
    cwd: here,
    stdio: 'inherit',
  })
}

export function build() {
  mkdirSync(binFolder, { recursive: true })
  const fuse = (what) => execFileSync('pkg-config', [what, 'fuse3'], { encoding: 'utf8' }).trim().split(/\s+/)
  const sources = readdirSync(here).filter((name) => name.endsWith('.cc'))
  // As system headers: libfuse's own are not held to the flags above.
  const includes = fuse('--cflags').map((flag) => flag.replace(/^-I/, '-isystem'))
  compileRig(sources, includes, fuse('--libs'))
  execFileSync('gcc', [...'-O1 -Wall -Wextra -Werror -shared -fPIC'.split(' '), shimSource, '-o', shim, '-ldl'], {
    stdio: 'inherit',
  })
}

/** Why durlog itself cannot be tried, or null. It is built by its own scripts: what is tried is what is shipped. */
export function whyNoPackage() {
  const missing = ['build/Release/durlog.node', 'dist/index.js'].filter(
    (name) => !existsSync(join(here, '../..', name)),
  )
  return missing.length === 0 ? null : `${missing.join(' and ')} missing: npm run build`
}
