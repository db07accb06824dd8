// Every order in which several writers of one log can take their turns: node scripts/test-schedules.mjs
// [schedule_explorer's arguments]. Without any: the short set, in which no promise may be broken, then each broken
// member, which must be caught. `--set long` takes minutes.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { argv, exit, platform } from 'node:process'
import { buildProgram, CORE_FLAGS, coreSources, WARNINGS, withTestHooks } from './native-program.mjs'

const FOLDER = 'test/core/schedules'
const CRASH_FOLDER = 'test/core/crash'
const BROKEN_MEMBERS = ['publishes-first', 'skips-reserved', 'voids-living']

if (platform !== 'linux') {
  console.log('schedules of several writers: skipped, they need the stacks of fiber_linux.cc')
  exit(0)
}
// As for simulated crashes: only the model's platform, and no threads.
const core = coreSources().filter((source) => !/\/platform\/(?!huge_pages)|\/live_watcher\./.test(source))
const own = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.cc'))
  .map((name) => `${FOLDER}/${name}`)
const shared = ['fiber_linux.cc', 'no_threads.cc'].map((name) => `${CRASH_FOLDER}/${name}`)
const explorer = await buildProgram(
  'build/schedule_explorer',
  // The words that members share are replaced by words that take turns.
  withTestHooks([...core, ...own, ...shared], [...CORE_FLAGS, ...WARNINGS], `${FOLDER}/stand_in`),
  [],
).catch((error) => {
  console.error(error.stderr ?? error)
  exit(1)
})

const rest = argv.slice(2)
let failed = spawnSync(explorer, rest, { stdio: 'inherit' }).status !== 0
for (const broken of rest.length > 0 ? [] : BROKEN_MEMBERS) {
  const { status, stdout } = spawnSync(explorer, ['--broken', broken], { encoding: 'utf8' })
  const violation = stdout.trim().split('\n').at(-1)
  console.log(status === 1 ? `broken member ${broken}: caught (${violation})` : `broken member ${broken}: NOT CAUGHT`)
  failed ||= status !== 1
}
exit(failed ? 1 : 0)
