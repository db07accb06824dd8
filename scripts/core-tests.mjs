// Builds the program with the tests of the C++ core, for this system or another one.
import { readdirSync } from 'node:fs'
import { googletestFolder } from './googletest.mjs'
import { buildProgram, CORE_FLAGS, coreSources, coreTests, WARNINGS, withTestHooks } from './native-program.mjs'

const FUZZ = 'test/fuzz'

/** The functions that the fuzzers call, for the tests in test/core/fuzz. */
function fuzzTargets(folders = []) {
  if (folders.length > 0 && !folders.includes('fuzz')) return []
  return readdirSync(FUZZ)
    .filter((name) => name.endsWith('_fuzzer.cc'))
    .map((name) => `${FUZZ}/${name}`)
}

/**
 * `flags` are added to the core's compiler flags; `link` is passed to the linker. Without `system`, `processor` and
 * `compiler`, the program is for this system. `folders` limits it to the tests in these folders below test/core. With
 * `reuse`, the folders of the core that have no test steps are not compiled again if the addon's build has done it.
 */
export async function buildCoreTests(
  output,
  { flags = [], link = [], folders, system, processor, compiler, reuse = false } = {},
) {
  const googletest = googletestFolder()
  const base = [...CORE_FLAGS, ...flags]
  const include = ['-isystem', `${googletest}/include`]
  const strict = [...base, ...WARNINGS]
  const sources = [
    ...withTestHooks(coreSources(system, processor), strict),
    ...withTestHooks(coreTests(system, folders), [...strict, '-Itest/core', ...include]),
    ...withTestHooks(fuzzTargets(folders), strict),
    ...['gtest-all.cc', 'gtest_main.cc'].map((name) => ({
      source: `${googletest}/src/${name}`,
      flags: [...base, '-w', `-I${googletest}`, ...include],
    })),
  ]
  return buildProgram(output, sources, link, { compiler, reused: reuse ? strict : undefined })
}
