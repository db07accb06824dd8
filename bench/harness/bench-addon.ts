/** Loads the bench's addon, which makes raw system calls. The library never loads it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from './package-root.js'

const { arch, platform } = process
/** The folders of the addon: a build in a clone of the repository, then the package's binary, which needs glibc. */
const FILES = ['build/Release', `prebuilds/${platform}-${arch}`]

/** Returns the addon's exports; undefined if no binary can be loaded on this system. */
export function loadBenchAddon(): unknown {
  for (const folder of FILES) {
    const path = join(PACKAGE_ROOT, folder, 'durlog_bench.node')
    if (!existsSync(path)) continue
    const module: { exports: unknown } = { exports: {} }
    try {
      process.dlopen(module, path)
      return module.exports
    } catch {
      // Try the next file.
    }
  }
  return undefined
}
