/** Finds and loads the compiled addon. No other module knows its path. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { types } from 'node:util'
import { DurlogError } from '../errors.js'

// This file is two folders below the package's root, in src and in dist. A bundle of ES modules has no __dirname.
const root: string | undefined = typeof __dirname === 'string' ? join(__dirname, '../..') : undefined

let provided: unknown

/** Takes the addon from a module that names its file literally, as the subpaths do for bundlers. */
export function provideAddon(addon: unknown): void {
  provided ??= addon
}

/** The folder of this system's binaries below prebuilds/. */
export function targetName(): string {
  const { arch, platform } = process
  return `${platform}-${arch}${platform === 'linux' && usesMusl() ? '-musl' : ''}`
}

/** Reads which C library this process has mapped, as the file system may hold both. glibc's is libc.so.6. */
function usesMusl(): boolean {
  try {
    return /\/(?:ld-musl-.*|libc\.musl-.*|libc\.so)$/m.test(readFileSync('/proc/self/maps', 'latin1'))
  } catch {
    // No /proc, or no permission to read it.
    return false
  }
}

/**
 * Loads durlog.node: the file that DURLOG_BINARY names, or the one given to `provideAddon`; else a build in a
 * checkout; else the package's binary for this system. Throws ERR_DURLOG_NO_BINARY.
 */
export function loadAddon(): unknown {
  const chosen = process.env['DURLOG_BINARY']
  if (chosen) return loadFile(resolve(chosen), 'DURLOG_BINARY names it')
  if (provided !== undefined) return provided
  const target = targetName()
  const files = root === undefined ? [] : ['build/Release/durlog.node', `prebuilds/${target}/durlog.node`]
  const found = files.map((file) => join(root as string, file)).find((path) => existsSync(path))
  if (found === undefined) throw new DurlogError('ERR_DURLOG_NO_BINARY', missingMessage(target))
  return loadFile(found, `it is the one for ${target}`)
}

// process.dlopen and not require: a bundler would try to resolve the path.
function loadFile(path: string, why: string): unknown {
  const module: { exports: unknown } = { exports: {} }
  try {
    process.dlopen(module, path)
  } catch (cause) {
    const reason = types.isNativeError(cause) ? cause.message : String(cause)
    throw new DurlogError('ERR_DURLOG_NO_BINARY', `can't load ${path} (${why}): ${reason}`, { path, cause })
  }
  return module.exports
}

function missingMessage(target: string): string {
  if (root === undefined)
    return `no durlog binary: an ES module bundle can't look for it; import "durlog/${target}" or set DURLOG_BINARY to a durlog.node`
  const folder = join(root, 'prebuilds')
  const carried = existsSync(folder) ? readdirSync(folder).sort().join(', ') : ''
  return [
    `no durlog binary for ${target}: the package has ${carried === '' ? 'none' : carried} in ${folder}.`,
    'In a clone of the repository run "npm ci && npm run build:native" on this system,',
    `then put build/Release/durlog.node at ${join(folder, target, 'durlog.node')} or set DURLOG_BINARY to its path.`,
    "A bundler must leave durlog out (Next.js: serverExternalPackages: ['durlog']; Vite: ssr.external: ['durlog']):",
    'see "Bundlers" in docs/INSTALL.md.',
  ].join(' ')
}
