// npm run test:kill -- [--rounds 1000] [--seed 1]: the kill -9 trials alone, as long as asked for.
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '1000' }, seed: { type: 'string', default: '1' } },
})
const trials = ['test/crash/kill.test.ts', 'test/crash/cursor-kill.test.ts']
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...trials], {
  stdio: 'inherit',
  cwd: new URL('..', import.meta.url),
  env: {
    ...process.env,
    DURLOG_KILL_ROUNDS: values.rounds,
    DURLOG_KILL_SEED: values.seed,
    DURLOG_CURSOR_KILLS: String(Math.ceil(Number(values.rounds) / 5)),
  },
})
process.exitCode = status ?? 1
