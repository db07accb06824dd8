/** Loads the bench's own addon, the raw system calls. The library never does. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from './package-root.js'

const { arch, platform } = process
/** A build in a checkout, then the package's, which is for glibc: on musl it does not load. */
const FILES = ['build/Release', `prebuilds/${platform}-${arch}`]

/** The addon's exports, or undefined if none loads on this system. */
export function loadBenchAddon(): unknown {
  for (const folder of FILES) {
    const path = join(PACKAGE_ROOT, folder, 'durlog_bench.node')
    if (!existsSync(path)) continue
    const module: { exports: unknown } = { exports: {} }
    try {
      process.dlopen(module, path)
      return module.exports
    } catch {
      // The next file may be for this system.
    }
  }
  return undefined
}
