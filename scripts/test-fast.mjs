// npm test: the tests that a change most often breaks, in little more than a minute. `npm run check` runs all of them.
import { spawnSync } from 'node:child_process'
import { execPath, exit } from 'node:process'

/** Many rounds, other servers, broken disks, old compilers. */
const LEFT_OUT = [
  'test/**/*kill*.test.ts',
  'test/archive/{stores,trial}.test.ts',
  'test/faults/**',
  'test/jetstream*.test.ts',
  'test/cli/ship*.test.ts',
  'test/memory.test.ts',
  'test/outbox/**',
  'test/pino.test.ts',
  'test/ship/**',
  'test/soak/**',
  'test/typescript-floor.test.ts',
]

const commands = [
  ['scripts/test-core.mjs', '--gtest_brief=1'],
  ['node_modules/vitest/vitest.mjs', 'run', ...LEFT_OUT.flatMap((files) => ['--exclude', files])],
]
for (const command of commands) {
  const { status } = spawnSync(execPath, command, { stdio: 'inherit' })
  if (status !== 0) exit(status ?? 1)
}
