// The libraries that a binary contains: the archives that the linker reports.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const recordOf = (target) => `build/prebuilds/${target.name}/linked`

/** Zig's linker for Windows reports no archives. These are the archives that zig passes to it. */
const OF_WINDOWS = ['c++', 'compiler_rt', 'mingw32', 'zigc']

/** The flags with which the linker of `target` reports the archives that it links. */
export function reportFlags({ format }) {
  return { elf: ['-Wl,--print-map'], macho: ['--verbose-link'], pe: [] }[format]
}

/**
 * The names of the archives that a binary contains parts of, without "lib" and the extension. For Linux, these are the
 * archives whose sections the map lists. For macOS, these are the archives on the linker's command line, although the
 * linker may have used no part of some of them.
 */
export function linkedArchives({ format }, report) {
  if (format === 'pe') return OF_WINDOWS
  const pattern = format === 'elf' ? /\/([\w+-]+)\.a\(/g : /\/([\w+-]+)\.a(?=\s|$)/g
  const names = [...report.matchAll(pattern)].map(([, name]) => name.replace(/^lib/, ''))
  return [...new Set(names)].sort()
}

export function recordLinked(target, archives) {
  writeFileSync(recordOf(target), archives.join('\n'))
}

/** The archives in the binaries of `target`. Throws if the target has not been built on this machine. */
export function readLinked(target) {
  if (!existsSync(recordOf(target)))
    throw new Error(`${target.name} has not been built here: run "npm run build:prebuilds"`)
  return readFileSync(recordOf(target), 'utf8').split('\n').filter(Boolean)
}
