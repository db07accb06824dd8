// Compiles the rig (C++17, libfuse3) and durlog's shim into bin/.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildProgram, WARNINGS } from '../../scripts/native-program.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const flags = '-std=c++17 -O1 -g'.split(' ')

export const binFolder = join(here, 'bin')
/** The library that breaks durlog from outside, loaded with LD_PRELOAD. */
export const shim = join(binFolder, 'broken_shim.so')
const shimSource = join(here, 'durlog', 'broken_shim.c')

/** Builds in the repository's folder, like the other C++ programs. */
export async function build() {
  mkdirSync(binFolder, { recursive: true })
  const fuse = (what) => execFileSync('pkg-config', [what, 'fuse3'], { encoding: 'utf8' }).trim().split(/\s+/)
  // libfuse's headers count as system headers, to which our warnings do not apply.
  const includes = fuse('--cflags').map((flag) => flag.replace(/^-I/, '-isystem'))
  const sources = readdirSync(here)
    .filter((name) => name.endsWith('.cc'))
    .map((name) => ({ source: `test/powercut/${name}`, flags: [...flags, ...WARNINGS, ...includes] }))
  await buildProgram(join(binFolder, 'powercut'), sources, fuse('--libs'))
  execFileSync('gcc', [...'-O1 -Wall -Wextra -Werror -shared -fPIC'.split(' '), shimSource, '-o', shim, '-ldl'], {
    stdio: 'inherit',
  })
}

/** Why durlog cannot be tried, or null. Its own scripts build it, so that the trials use the shipped package. */
export function whyNoPackage() {
  const missing = ['build/Release/durlog.node', 'dist/index.js'].filter(
    (name) => !existsSync(join(here, '../..', name)),
  )
  return missing.length === 0 ? null : `${missing.join(' and ')} missing: npm run build`
}
