// The workload: several processes ("lives") on one log, one after another. Some close it, and some are killed with
// SIGKILL while appends are pending. Each runs life.mjs, or the script that the first argument names.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { between, seededRandom } from './random.mjs'

const random = seededRandom(Number(process.env.POWERCUT_SEED))
const lives = between(random, 3, 5)

for (let life = 0; life < lives; ++life) {
  const killed = random() < 0.5
  const script = join(import.meta.dirname, process.argv[2] ?? 'life.mjs')
  const ending = spawnSync(process.execPath, [script, String(life), killed ? 'kill' : 'close'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (killed ? ending.signal !== 'SIGKILL' : ending.status !== 0) {
    console.error(`life ${life} of the workload ended with ${ending.signal ?? ending.status}`)
    process.exit(1)
  }
}
