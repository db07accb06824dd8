// Builds and runs the core's tests:
//
//   npm run test:core [-- folder ...] [--sanitize address|undefined|thread] [--debug] [--watch]
//       [--gtest_filter='*X*' ...]
//
// With the folder `segment`, only the tests in test/core/segment are built and run. --debug builds
// build/core-tests-debug without optimization and with debug information. --watch builds and runs the tests again after
// each change of a source.
import { spawn } from 'node:child_process'
import { existsSync, watch } from 'node:fs'
import { availableParallelism } from 'node:os'
import { argv, env, exit, platform } from 'node:process'
import { parseArgs } from 'node:util'
import { buildCoreTests } from './core-tests.mjs'
import { NoGoogleTest } from './googletest.mjs'
import { DEBUG_FLAGS, sanitizerFlags, UNOPTIMIZED } from './native-program.mjs'

/** The number of processes. Tests wait for the disk most of the time, so it exceeds the number of processors. */
const SHARDS = 2 * availableParallelism()
const SETTLED_MS = 200

/** If GoogleTest is missing, the tests are skipped. With this variable, which .ci/run sets, they fail instead. */
const isRequired = env.DURLOG_REQUIRE_CORE_TESTS === '1'

const { values, positionals: folders } = parseArgs({
  args: argv.slice(2).filter((arg) => !arg.startsWith('--gtest_')),
  allowPositionals: true,
  options: {
    sanitize: { type: 'string', default: '' },
    debug: { type: 'boolean', default: false },
    watch: { type: 'boolean', default: false },
  },
})
const gtestArgs = argv.slice(2).filter((arg) => arg.startsWith('--gtest_'))
const unknown = folders.find((folder) => !existsSync(`test/core/${folder}`))
if (unknown !== undefined) {
  console.error(`test/core has no folder "${unknown}"`)
  exit(2)
}

/** The flags for the optimization. With a sanitizer, which makes programs slow, the core's flags are not overridden. */
function optimization() {
  if (values.debug) return DEBUG_FLAGS
  return values.sanitize ? [] : [UNOPTIMIZED]
}

async function build() {
  const flags = [...optimization(), ...sanitizerFlags(values.sanitize)]
  const name = ['core-tests', ...folders, values.debug ? 'debug' : '', values.sanitize].filter(Boolean).join('-')
  const reuse = !values.debug && !values.sanitize
  return buildCoreTests(`build/${name}`, { flags, link: flags, folders, reuse })
}

/**
 * Runs one shard and resolves with its exit status. Prints its output at its end, or immediately if it is the only
 * shard.
 */
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
    const isAll = folders.length === 0 && !gtestArgs.some((arg) => arg.startsWith('--gtest_filter'))
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
