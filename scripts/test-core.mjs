// Builds and runs the core's own tests: node scripts/test-core.mjs [--sanitize address|undefined|thread] [gtest flags]
import { spawnSync } from 'node:child_process'
import { argv, exit, platform } from 'node:process'
import { googletestFolder } from './googletest.mjs'
import { buildProgram, CORE_FLAGS, coreSources, coreTests, sanitizerFlags, WARNINGS } from './native-program.mjs'

if (platform === 'win32') {
  console.log('core tests: skipped on Windows; `npm run test:windows` on Linux runs them under Wine')
  exit(0)
}
const rest = argv.slice(2)
const sanitize = rest[0] === '--sanitize' ? rest.splice(0, 2)[1] : ''
const googletest = await googletestFolder()
const base = [...CORE_FLAGS, ...sanitizerFlags(sanitize)]
/** With the points at which a test stops a writer: see src-native/shared/steps.h. */
const flagsOf = (source) => (/\/shared\//.test(source) ? [...base, '-DDURLOG_TEST_STEPS'] : base)
const program = await buildProgram(
  `build/core-tests${sanitize && `-${sanitize}`}`,
  [
    ...coreSources().map((source) => ({ source, flags: [...flagsOf(source), ...WARNINGS] })),
    ...coreTests().map((source) => ({
      source,
      flags: [...flagsOf(source), ...WARNINGS, '-Itest/core', '-isystem', `${googletest}/include`],
    })),
    ...['gtest-all.cc', 'gtest_main.cc'].map((name) => ({
      source: `${googletest}/src/${name}`,
      flags: [...base, '-w', `-I${googletest}`, '-isystem', `${googletest}/include`],
    })),
  ],
  sanitizerFlags(sanitize),
).catch((error) => {
  console.error(error.stderr ?? error)
  exit(1)
})
exit(spawnSync(program, rest, { stdio: 'inherit' }).status ?? 1)
