// Which libraries a binary contains: the archives that the linker reports.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const recordOf = (target) => `build/prebuilds/${target.name}/linked`

/** Zig's linker for Windows reports nothing: these are the archives that zig gives it. */
const OF_WINDOWS = ['c++', 'compiler_rt', 'mingw32', 'zigc']

/** The flag with which the linker of `target` reports what it links. */
export function reportFlags({ format }) {
  return { elf: ['-Wl,--print-map'], macho: ['--verbose-link'], pe: [] }[format]
}

/**
 * The archives of which parts are in a binary, without "lib" and the ending. For Linux they are those whose sections the
 * map lists; for macOS those on the linker's command line, although it may have taken nothing from one of them.
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

/** The archives in the binaries of `target`. Throws if it has not been built on this machine. */
export function readLinked(target) {
  if (!existsSync(recordOf(target)))
    throw new Error(`${target.name} has not been built here: run "npm run build:prebuilds"`)
  return readFileSync(recordOf(target), 'utf8').split('\n').filter(Boolean)
}
