// npm test: the tests that a change most often breaks. They take about a minute and a half on two cores, plus the
// compilation of the core's tests. `npm run check` runs all tests.
import { exit } from 'node:process'
import { runTogether } from './run-together.mjs'

/**
 * The tests that are not run here: tests with many rounds, with other servers, test suites, compilers or hosts, with
 * broken disks or stopped processes, of the archive, of the installed package, and of every command in the documents.
 */
const LEFT_OUT = [
  'test/**/*kill*.test.ts',
  'test/archive/**',
  'test/cli/{archive,ship*,streams}.test.ts',
  'test/document-{blocks,pages}.test.ts',
  'test/environments.test.ts',
  'test/examples.test.ts',
  'test/faults/**',
  'test/heap.test.ts',
  'test/http/{cluster,conformance*,examples,hostile,page}.test.ts',
  'test/jetstream*.test.ts',
  'test/memory.test.ts',
  'test/outbox/**',
  'test/package.test.ts',
  'test/pino.test.ts',
  'test/positions.test.ts',
  'test/shared-stall.test.ts',
  'test/ship/**',
  'test/soak/**',
  'test/streams/{long-lines,processes,retention-steps,shared-api}.test.ts',
  'test/typescript-floor.test.ts',
]

const status = await runTogether(
  ['node_modules/vitest/vitest.mjs', 'run', ...LEFT_OUT.flatMap((files) => ['--exclude', files])],
  [['scripts/test-core.mjs', '--gtest_brief=1']],
)
console.log(`\nNot run here, only by npm run check: simulated crashes, schedules, and\n${LEFT_OUT.join('\n')}`)
exit(status)
