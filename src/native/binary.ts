/** Finds and loads the compiled addon. No other module knows its path. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { types } from 'node:util'
import { DurlogError } from '../errors.js'

// A bundle of ES modules has no __dirname.
const hasFolder: boolean = typeof __dirname === 'string'

/**
 * The paths where the binary for `target` may be, the build of a clone first. The package's root is two folders above
 * this file, in src/ and in dist/. The path of the package's binary is one expression that begins with __dirname:
 * programs that collect the files of an application (@vercel/nft, in Next.js with `output: 'standalone'`) include the
 * files that match it.
 */
function places(target: string): string[] {
  if (!hasFolder) return []
  return [join(__dirname, '../../build/Release/durlog.node'), join(__dirname, '../../prebuilds', target, 'durlog.node')]
}

let provided: { target: string; load: () => unknown } | undefined

/**
 * Sets how `loadAddon` loads the addon: from the literal path in the subpath for `target`, which bundlers can resolve.
 */
export function provideAddon(target: string, load: () => unknown): void {
  provided ??= { target, load }
}

/** The name of this system's folder in prebuilds/, such as `linux-x64-musl`. */
export function targetName(): string {
  const { arch, platform } = process
  return `${platform}-${arch}${platform === 'linux' && usesMusl() ? '-musl' : ''}`
}

/**
 * Whether this process has mapped musl's C library. The file system may hold both libraries; glibc's is named
 * libc.so.6.
 */
function usesMusl(): boolean {
  try {
    return /\/(?:ld-musl-.*|libc\.musl-.*|libc\.so)$/m.test(readFileSync('/proc/self/maps', 'latin1'))
  } catch {
    // No /proc, or no permission to read it.
    return false
  }
}

/**
 * Returns the addon, from the first of these that exists: the file in the environment variable DURLOG_BINARY, the addon
 * given to `provideAddon`, the build of a clone of the repository, the package's binary for this system. Throws
 * ERR_DURLOG_NO_BINARY.
 */
export function loadAddon(): unknown {
  const chosen = process.env['DURLOG_BINARY']
  if (chosen) return loadFile(resolve(chosen), 'DURLOG_BINARY names it')
  if (provided !== undefined) return loadProvided(provided)
  const target = targetName()
  const found = places(target).find((path) => existsSync(path))
  if (found === undefined) throw new DurlogError('ERR_DURLOG_NO_BINARY', missingMessage(target))
  return loadFile(found, `it is the one for ${target}`)
}

function loadProvided({ target, load }: NonNullable<typeof provided>): unknown {
  try {
    return load()
  } catch (cause) {
    const advice = `this system is ${targetName()}: import "durlog" or "durlog/${targetName()}"`
    const message = `can't load the binary of durlog/${target}: ${reasonOf(cause)}; ${advice}`
    throw new DurlogError('ERR_DURLOG_NO_BINARY', message, { cause })
  }
}

function reasonOf(cause: unknown): string {
  return types.isNativeError(cause) ? cause.message : String(cause)
}

// Uses process.dlopen instead of require, whose path a bundler would try to resolve.
function loadFile(path: string, why: string): unknown {
  const module: { exports: unknown } = { exports: {} }
  try {
    process.dlopen(module, path)
  } catch (cause) {
    const message = `can't load ${path} (${why}): ${reasonOf(cause)}`
    throw new DurlogError('ERR_DURLOG_NO_BINARY', message, { path, cause })
  }
  return module.exports
}

function missingMessage(target: string): string {
  if (!hasFolder)
    return `no durlog binary: a bundle of ES modules cannot locate it; import "durlog/${target}" or set DURLOG_BINARY to the path of a durlog.node`
  const folder = join(__dirname, '../../prebuilds')
  const carried = existsSync(folder) ? readdirSync(folder).sort().join(', ') : ''
  return [
    `no durlog binary for ${target}: the package has ${carried === '' ? 'none' : carried} in ${folder}.`,
    'In a clone of the repository run "npm ci && npm run build:native" on this system,',
    `then put build/Release/durlog.node at ${join(folder, target, 'durlog.node')} or set DURLOG_BINARY to its path.`,
    "A bundler must leave durlog out (Next.js: serverExternalPackages: ['durlog']; Vite: ssr.external: ['durlog']):",
    'see "Bundlers" in docs/INSTALL.md.',
  ].join(' ')
}
