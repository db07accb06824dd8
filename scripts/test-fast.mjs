// npm test: the tests that a change most often breaks, in two to three minutes on two cores once the core's tests are compiled.
// `npm run check` runs all of them.
import { exit } from 'node:process'
import { runTogether } from './run-together.mjs'

/** Many rounds, other servers and suites, broken disks, other compilers and hosts, every command of the documents. */
const LEFT_OUT = [
  'test/**/*kill*.test.ts',
  'test/archive/{faults,restore,stores,trial}.test.ts',
  'test/cli/{archive,ship*,streams}.test.ts',
  'test/document-blocks.test.ts',
  'test/environments.test.ts',
  'test/faults/**',
  'test/heap.test.ts',
  'test/http/{cluster,conformance*}.test.ts',
  'test/jetstream*.test.ts',
  'test/memory.test.ts',
  'test/outbox/**',
  'test/pino.test.ts',
  'test/ship/**',
  'test/soak/**',
  'test/streams/{long-lines,processes}.test.ts',
  'test/typescript-floor.test.ts',
]

const status = await runTogether(
  ['node_modules/vitest/vitest.mjs', 'run', ...LEFT_OUT.flatMap((files) => ['--exclude', files])],
  [['scripts/test-core.mjs', '--gtest_brief=1']],
)
console.log(`\nLeft out, and run by npm run check: simulated crashes, schedules, fuzzers, and\n${LEFT_OUT.join('\n')}`)
exit(status)
