// Compiles the rig (C++17, libfuse3) and durlog's shim into bin/.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildProgram, WARNINGS } from '../../scripts/native-program.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const flags = '-std=c++17 -O1 -g'.split(' ')

export const binFolder = join(here, 'bin')
/** What breaks durlog from outside, by LD_PRELOAD. */
export const shim = join(binFolder, 'broken_shim.so')
const shimSource = join(here, 'durlog', 'broken_shim.c')

/** In the repository's folder, as the other C++ programs are built. */
export async function build() {
  mkdirSync(binFolder, { recursive: true })
  const fuse = (what) => execFileSync('pkg-config', [what, 'fuse3'], { encoding: 'utf8' }).trim().split(/\s+/)
  // As system headers: libfuse's own are not held to our warnings.
  const includes = fuse('--cflags').map((flag) => flag.replace(/^-I/, '-isystem'))
  const sources = readdirSync(here)
    .filter((name) => name.endsWith('.cc'))
    .map((name) => ({ source: `test/powercut/${name}`, flags: [...flags, ...WARNINGS, ...includes] }))
  await buildProgram(join(binFolder, 'powercut'), sources, fuse('--libs'))
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
