// Explores every order in which the steps of several writers of one log can be interleaved:
// node scripts/test-schedules.mjs [arguments of schedule_explorer]. Without arguments, it explores the short set, in
// which no schedule may break a guarantee, and then each deliberately broken member, which must break one. `--set long`
// takes minutes.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { argv, exit, platform } from 'node:process'
import {
  buildProgram,
  CORE_FLAGS,
  STAND_INS,
  simulatedCoreSources,
  WARNINGS,
  withTestHooks,
} from './native-program.mjs'

const FOLDER = 'test/core/schedules'
const CRASH_FOLDER = 'test/core/crash'
const BROKEN_MEMBERS = ['publishes-first', 'skips-reserved', 'voids-living', 'joins-unproven']

if (platform !== 'linux') {
  console.log('schedules of several writers: skipped, because fiber_linux.cc runs on Linux only')
  exit(0)
}
const own = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.cc'))
  .map((name) => `${FOLDER}/${name}`)
const shared = ['fiber_linux.cc', 'no_threads.cc'].map((name) => `${CRASH_FOLDER}/${name}`)
const flags = [...CORE_FLAGS, ...WARNINGS]
const explorer = await buildProgram(
  'build/schedule_explorer',
  // In the stand-ins, each access to a word that members share is a point at which another member can run.
  withTestHooks([...simulatedCoreSources(), ...own, ...shared], flags, STAND_INS),
  [],
  { reused: flags },
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
