// Simulated crashes: node scripts/test-crash-points.mjs [--sanitize address|undefined] [arguments of crash_explorer]
// Without arguments of crash_explorer, it explores 16,000 crash points of one writer and 2,000 of several writers of
// one log, none of which may break a guarantee. Then it explores each deliberately broken disk or writer, which must
// break one within the number of crash points that BROKEN lists.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { argv, exit, platform } from 'node:process'
import {
  buildProgram,
  CORE_FLAGS,
  STAND_INS,
  sanitizerFlags,
  simulatedCoreSources,
  WARNINGS,
  withTestHooks,
} from './native-program.mjs'

const POINTS = 16_000
const POINTS_OF_SEVERAL = 2000
/**
 * The number of crash points within which each defect must be detected. "kept-cache" shows only after a failed sync.
 */
const BROKEN = {
  'early-ack': 200,
  'no-directory-sync': 200,
  'no-cut': 200,
  'kept-cache': 20_000,
  'publishes-first': 400,
  'acks-reserved': 200,
  'voids-live-owner': 2000,
}
const BROKEN_WRITERS = ['publishes-first', 'acks-reserved', 'voids-live-owner']
const SEVERAL = ['--writers', 'several']
/** Seeds that once found a bug. They test for the bug only as long as a seed still generates the same scenario. */
const SEEDS_OF_FIXED_BUGS = [
  [273, 'recovery was killed three times: its markers covered a record, and the next one was called misplaced'],
  [9553, 'recovery cut a torn tail that only the page cache showed, and synced records were after the cut'],
]
/** Seeds that once found a bug with several writers. */
const SEEDS_OF_SEVERAL = [
  [20001, 'a writer published and died while another one took it for dead already, and made a void over its record'],
]
const FOLDER = 'test/core/crash'

if (platform === 'win32') {
  console.log('simulated crashes: skipped on Windows, where the explorer has not been ported yet')
  exit(0)
}
const rest = argv.slice(2)
const sanitize = rest[0] === '--sanitize' ? rest.splice(0, 2)[1] : ''
// On Linux, a fiber can be abandoned in the middle of a job; on other systems, a job always runs to its end.
const otherFiber = platform === 'linux' ? 'fiber_portable.cc' : 'fiber_linux.cc'
const own = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.cc') && name !== otherFiber)
  .map((name) => `${FOLDER}/${name}`)
const flags = [...CORE_FLAGS, ...sanitizerFlags(sanitize), ...WARNINGS]
const explorer = await buildProgram(
  `build/crash_explorer${sanitize && `-${sanitize}`}`,
  // The stand-in for base/job.h lets a crash abandon a job. Crashes also happen at the test steps of several writers.
  withTestHooks([...simulatedCoreSources(), ...own], flags, STAND_INS),
  sanitizerFlags(sanitize),
  { reused: sanitize ? undefined : flags },
).catch((error) => {
  console.error(error.stderr ?? error)
  exit(1)
})

const jobs = ['--jobs', String(availableParallelism())]
const explore = (args, options) => spawnSync(explorer, args, { encoding: 'utf8', ...options })

if (rest.length > 0) exit(explore([...jobs, ...rest], { stdio: 'inherit' }).status ?? 1)

const began = Date.now()
let failed = explore([...jobs, '--points', String(POINTS)], { stdio: 'inherit' }).status !== 0
// Several writers run as fibers that take turns. The fibers and the locks that they need exist only on Linux.
if (platform === 'linux') {
  console.log('\nseveral writers')
  const several = [...jobs, ...SEVERAL, '--points', String(POINTS_OF_SEVERAL)]
  if (explore(several, { stdio: 'inherit' }).status !== 0) failed = true
}
const ofSeveral = SEEDS_OF_SEVERAL.map(([seed, bug]) => [seed, bug, SEVERAL])
for (const [seed, bug, more = []] of [...SEEDS_OF_FIXED_BUGS, ...(platform === 'linux' ? ofSeveral : [])]) {
  const { status, stdout } = explore(['--jobs', '1', ...more, '--replay', String(seed)])
  if (status === 0) continue
  console.log(`seed ${seed} FAILED; the bug that it once found: ${bug}\n${stdout}`)
  failed = true
}
for (const [broken, most] of Object.entries(BROKEN)) {
  if (BROKEN_WRITERS.includes(broken) && platform !== 'linux') continue
  const { stdout } = explore(['--jobs', '1', '--points', String(most), '--broken', broken])
  const points = Number(/after (\d+) points/.exec(stdout)?.[1] ?? Number.POSITIVE_INFINITY)
  const found = points <= most
  console.log(`broken: ${broken}: ${found ? `detected after ${points} points` : 'NOT DETECTED'}`)
  failed ||= !found
}
console.log(`${((Date.now() - began) / 1000).toFixed(0)} s`)
exit(failed ? 1 : 0)
