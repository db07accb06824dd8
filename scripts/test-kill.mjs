// npm run test:kill -- [--rounds 1000] [--seed 1]: the kill -9 trial alone, as long as asked for. That of a consumer and
// its cursor is npm run test:outbox.
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '1000' }, seed: { type: 'string', default: '1' } },
})
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', 'test/crash/kill.test.ts'], {
  stdio: 'inherit',
  cwd: new URL('..', import.meta.url),
  env: {
    ...process.env,
    DURLOG_KILL_ROUNDS: values.rounds,
    DURLOG_KILL_SEED: values.seed,
  },
})
process.exitCode = status ?? 1
