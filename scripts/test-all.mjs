// npm run test:all: every test of `npm run check`. With --electron also Electron's.
import { argv, exit } from 'node:process'
import { runTogether } from './run-together.mjs'

exit(
  await runTogether(
    ['node_modules/vitest/vitest.mjs', 'run'],
    [
      ['scripts/test-core.mjs', '--gtest_brief=1'],
      ['scripts/test-crash-points.mjs'],
      ['scripts/test-schedules.mjs'],
      ['test/trials/main.mjs', 'faults', '--short'],
      ...(argv.includes('--electron') ? [['scripts/test-electron.mjs', '--built']] : []),
    ],
  ),
)
