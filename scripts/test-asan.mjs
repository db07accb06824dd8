// npm run test:asan [-- FILE...]: builds the addon with AddressSanitizer and UndefinedBehaviorSanitizer in a copy of
// the package below build/asan, and runs its tests in Node with gcc's runtime preloaded. Leaks are not checked, because
// Node does not free most of its memory before it exits.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { argv, env, execPath, platform, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COPY = join(ROOT, 'build', 'asan')
const COPIED = [
  'bench',
  'src',
  'src-native',
  'test',
  'scripts',
  'docs',
  'binding.gyp',
  'package.json',
  'tsconfig.json',
  'tsconfig.commonjs.json',
  'vitest.config.ts',
]
const FLAGS = '-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1 -g -Wno-error'
/** The tests that use the addon most. The sanitizers cannot find anything in tests that use only TypeScript. */
const FILES = [
  'test/log.test.ts',
  'test/reader.test.ts',
  'test/batch.test.ts',
  'test/streams.test.ts',
  'test/lifecycle.test.ts',
  'test/environments.test.ts',
  'test/limits.test.ts',
  'test/live.test.ts',
  'test/get.test.ts',
  'test/shared-memory.test.ts',
  'test/cursors.test.ts',
  'test/faults/broken-disk.test.ts',
  'test/faults/full-disk.test.ts',
  'test/crash/kill.test.ts',
]

/** The path of gcc's AddressSanitizer runtime, or '' if it is not installed. */
function runtime() {
  try {
    const path = execFileSync('gcc', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).trim()
    return path.startsWith('/') && existsSync(path) ? path : ''
  } catch {
    return ''
  }
}

function run(program, args, more = {}) {
  const { status, signal } = spawnSync(program, args, { cwd: COPY, stdio: 'inherit', env: { ...env, ...more } })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${signal ?? status}`)
}

function build() {
  mkdirSync(COPY, { recursive: true })
  for (const name of COPIED) {
    // Timestamps are preserved, so that only changed files are compiled again.
    if (name !== 'src-native') rmSync(join(COPY, name), { recursive: true, force: true })
    const filter = (path) => !path.endsWith('node_modules')
    cpSync(join(ROOT, name), join(COPY, name), { recursive: true, preserveTimestamps: true, filter })
  }
  if (!existsSync(join(COPY, 'node_modules'))) symlinkSync(join(ROOT, 'node_modules'), join(COPY, 'node_modules'))
  const flags = { CC: 'gcc', CXX: 'g++', CXXFLAGS: FLAGS, LDFLAGS: '-fsanitize=address,undefined' }
  run(join('node_modules', '.bin', 'node-gyp'), ['configure', '--loglevel=warn'], flags)
  run('make', ['-C', 'build', 'BUILDTYPE=Release', '-s', `-j${availableParallelism()}`, 'durlog'], flags)
  // Otherwise, vitest's setup might find the addon older than its sources and build it again without these flags.
  utimesSync(join(COPY, 'build', 'Release', 'durlog.node'), new Date(), new Date())
  run('npm', ['run', '-s', 'build:ts'])
}

const library = platform === 'linux' ? runtime() : ''
if (library === '') {
  stdout.write(
    `skipped: ${platform === 'linux' ? 'gcc has no libasan here' : 'the runtime is preloaded on Linux only'}\n`,
  )
} else {
  build()
  const files = argv.length > 2 ? argv.slice(2) : FILES
  // The addon has its own SIGBUS handler, and it handles an allocation that fails.
  const options = 'detect_leaks=0:handle_sigbus=0:handle_segv=0:allocator_may_return_null=1:verify_asan_link_order=0'
  run(execPath, [join('node_modules', 'vitest', 'vitest.mjs'), 'run', '--testTimeout=240000', ...files], {
    LD_PRELOAD: library,
    ASAN_OPTIONS: options,
    UBSAN_OPTIONS: 'print_stacktrace=1',
    DURLOG_KILL_ROUNDS: env.DURLOG_KILL_ROUNDS ?? '20',
    DURLOG_WORKER_ROUNDS: env.DURLOG_WORKER_ROUNDS ?? '20',
  })
}
