// The program of the core's own tests, for this system or another one.
import { googletestFolder } from './googletest.mjs'
import { buildProgram, CORE_FLAGS, coreSources, coreTests, WARNINGS } from './native-program.mjs'

/**
 * `flags` are the compiler's beside those of the core, `link` the linker's; without `system`, `processor` and `compiler`
 * the program is for this system.
 */
export async function buildCoreTests(output, { flags = [], link = [], system, processor, compiler } = {}) {
  const googletest = await googletestFolder()
  const base = [...CORE_FLAGS, ...flags]
  const include = ['-isystem', `${googletest}/include`]
  /** With the points at which a test stops a writer: see src-native/shared/steps.h. */
  const flagsOf = (source) => [...base, ...(/\/shared\//.test(source) ? ['-DDURLOG_TEST_STEPS'] : []), ...WARNINGS]
  const sources = [
    ...coreSources(system, processor).map((source) => ({ source, flags: flagsOf(source) })),
    ...coreTests(system).map((source) => ({ source, flags: [...flagsOf(source), '-Itest/core', ...include] })),
    ...['gtest-all.cc', 'gtest_main.cc'].map((name) => ({
      source: `${googletest}/src/${name}`,
      flags: [...base, '-w', `-I${googletest}`, ...include],
    })),
  ]
  return buildProgram(output, sources, link, compiler)
}
