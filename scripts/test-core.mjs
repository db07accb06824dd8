// Builds and runs the core's tests:
//
//   npm run test:core [-- folder ...] [--sanitize address|undefined|thread] [--debug] [--watch] [--gtest_filter='*X*' ...]
//
// `segment` builds and runs the tests of test/core/segment alone. --debug builds without optimization and with debug
// information; the program is build/core-tests-debug. --watch runs again after each change of a source.
import { spawn } from 'node:child_process'
import { existsSync, watch } from 'node:fs'
import { availableParallelism } from 'node:os'
import { argv, env, exit, platform } from 'node:process'
import { parseArgs } from 'node:util'
import { buildCoreTests } from './core-tests.mjs'
import { NoGoogleTest } from './googletest.mjs'
import { DEBUG_FLAGS, sanitizerFlags, UNOPTIMIZED } from './native-program.mjs'

/** Tests wait for the disk most of the time, so there are more processes than processors. */
const SHARDS = 2 * availableParallelism()
const SETTLED_MS = 200

/** Without GoogleTest the tests are skipped, unless .ci/run says that they must run. */
const isRequired = env.DURLOG_REQUIRE_CORE_TESTS === '1'

const { values, positionals: rooms } = parseArgs({
  args: argv.slice(2).filter((arg) => !arg.startsWith('--gtest_')),
  allowPositionals: true,
  options: {
    sanitize: { type: 'string', default: '' },
    debug: { type: 'boolean', default: false },
    watch: { type: 'boolean', default: false },
  },
})
const gtestArgs = argv.slice(2).filter((arg) => arg.startsWith('--gtest_'))
const unknown = rooms.find((room) => !existsSync(`test/core/${room}`))
if (unknown !== undefined) {
  console.error(`test/core has no folder "${unknown}"`)
  exit(2)
}

/** A sanitizer needs the optimization of the core's flags: it makes programs slow. */
function optimization() {
  if (values.debug) return DEBUG_FLAGS
  return values.sanitize ? [] : [UNOPTIMIZED]
}

async function build() {
  const flags = [...optimization(), ...sanitizerFlags(values.sanitize)]
  const name = ['core-tests', ...rooms, values.debug ? 'debug' : '', values.sanitize].filter(Boolean).join('-')
  return buildCoreTests(`build/${name}`, { flags, link: flags, rooms })
}

/** The exit status of one shard. Its output is printed when it has ended, unless it is the only one. */
function runShard(program, index, count) {
  const shard = { GTEST_TOTAL_SHARDS: String(count), GTEST_SHARD_INDEX: String(index) }
  const child = spawn(program, gtestArgs, {
    stdio: ['ignore', count === 1 ? 'inherit' : 'pipe', 'inherit'],
    env: { ...env, ...shard },
  })
  const output = []
  child.stdout?.on('data', (chunk) => output.push(chunk))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status) => {
      for (const chunk of output) process.stdout.write(chunk)
      resolve(status ?? 1)
    })
  })
}

async function run() {
  try {
    const program = await build()
    const isAll = rooms.length === 0 && !gtestArgs.some((arg) => arg.startsWith('--gtest_filter'))
    const count = isAll ? SHARDS : 1
    const statuses = await Promise.all(Array.from({ length: count }, (_, index) => runShard(program, index, count)))
    return statuses.every((status) => status === 0) ? 0 : 1
  } catch (error) {
    if (error instanceof NoGoogleTest) {
      console.log(`core tests: ${isRequired ? 'FAILED' : 'SKIPPED, none ran'}: ${error.message}`)
      return isRequired ? 1 : 0
    }
    console.error(error.stderr ?? error.message)
    return 1
  }
}

async function runAfterChanges() {
  for (;;) {
    await run()
    console.log('waiting for a change in src-native or test/core')
    await new Promise((resolve) => {
      const watchers = ['src-native', 'test/core'].map((folder) =>
        watch(folder, { recursive: true }, () => {
          for (const watcher of watchers) watcher.close()
          setTimeout(resolve, SETTLED_MS)
        }),
      )
    })
  }
}

if (platform === 'win32') {
  console.log('core tests: skipped on Windows; `npm run test:windows` on Linux runs them under Wine')
} else if (values.watch) {
  await runAfterChanges()
} else {
  exit(await run())
}
