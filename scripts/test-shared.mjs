// npm run test:shared -- [--kills 2000] [--seed 1]: kill -9 among several writers of one log, as often as asked for.
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '2000' }, seed: { type: 'string', default: '1' } },
})
const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', 'test/crash/shared-kill.test.ts'],
  {
    stdio: 'inherit',
    cwd: new URL('..', import.meta.url),
    env: { ...process.env, DURLOG_SHARED_KILLS: values.kills, DURLOG_SHARED_SEED: values.seed },
  },
)
process.exitCode = status ?? 1
