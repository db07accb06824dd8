// The program of the core's own tests, for this system or another one.
import { googletestFolder } from './googletest.mjs'
import { buildProgram, CORE_FLAGS, coreSources, coreTests, WARNINGS, withTestHooks } from './native-program.mjs'

/**
 * `flags` are added to those of the core, `link` is passed to the linker; without `system`, `processor` and `compiler`
 * the program is for this system. `rooms` limits it to the tests of these folders below test/core.
 */
export async function buildCoreTests(output, { flags = [], link = [], rooms, system, processor, compiler } = {}) {
  const googletest = googletestFolder()
  const base = [...CORE_FLAGS, ...flags]
  const include = ['-isystem', `${googletest}/include`]
  const strict = [...base, ...WARNINGS]
  const sources = [
    ...withTestHooks(coreSources(system, processor), strict),
    ...withTestHooks(coreTests(system, rooms), [...strict, '-Itest/core', ...include]),
    ...['gtest-all.cc', 'gtest_main.cc'].map((name) => ({
      source: `${googletest}/src/${name}`,
      flags: [...base, '-w', `-I${googletest}`, ...include],
    })),
  ]
  return buildProgram(output, sources, link, compiler)
}
