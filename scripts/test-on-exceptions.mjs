// The test files that `npm run test:on` does not run, and the tests that may fail because of the emulation (qemu,
// Wine). A test that fails because of a bug in durlog must not be listed here.

const isWindows = ({ system }) => system === 'win'
const isEmulated = ({ system, arch }) => system === 'linux' && arch === 'arm64'
const isLinux = ({ system }) => system === 'linux'

/** Test files that are not run; `files` is the beginning of their path. */
export const FILES = [
  {
    on: isWindows,
    files: 'test/faults/',
    reason: 'faults are injected into Linux: loop devices, tmpfs, a preloaded library',
  },
  { on: isWindows, files: 'test/http/', reason: 'in Wine 8, Node cannot connect to a TCP port of this machine' },
  { on: isLinux, files: 'test/faults/', reason: 'the library that injects the faults is compiled for this machine' },
  {
    on: isEmulated,
    files: 'test/cli.test.ts',
    reason: 'each test starts several Nodes, and each takes 10 s to start under qemu',
  },
  ...['test/jetstream', 'test/cli/ship.test.ts', 'test/ship/'].map((files) => ({
    on: () => true,
    files,
    reason: 'the nats-server that it needs is built for this machine',
  })),
  ...['test/archive/cache.test.ts', 'test/streams/replaced.test.ts'].map((files) => ({
    on: () => true,
    files,
    reason: 'it replaces modules (vi.mock), which needs vitest itself',
  })),
  { on: () => true, files: 'test/electron.test.ts', reason: 'Electron is run natively' },
  ...[
    'test/api-document.test.ts',
    'test/bench/',
    'test/built-object.test.ts',
    'test/contributing-map.test.ts',
    'test/core-tests-skipped.test.ts',
    'test/fresh-build.test.ts',
    'test/layers.test.ts',
    'test/prebuilds.test.ts',
    'test/published-figures.test.ts',
    'test/test-on-exceptions.test.ts',
    'test/trials/',
    'test/typescript-floor.test.ts',
  ].map((files) => ({ on: () => true, files, reason: 'it tests the repository and its scripts, not the package' })),
]

/** Tests that may fail; `test` matches their names. */
export const TESTS = [
  {
    on: isWindows,
    file: 'test/damage.test.ts',
    test: /link/,
    reason: 'Wine follows a link of Linux and does not report it as a link',
  },
  {
    on: isWindows,
    file: 'test/streams/streams-log.test.ts',
    test: /refused through a link/,
    reason: 'Wine follows a link of Linux and does not report it as a link',
  },
  {
    on: isWindows,
    file: 'test/cli/tail.test.ts',
    test: /waits for a log to appear/,
    reason: 'the test removes a folder that a reader has open, which Windows refuses',
  },
  {
    on: isWindows,
    file: 'test/cli/append.test.ts',
    test: /import --shared/,
    reason: 'several writers cannot share a log on Windows',
  },
  {
    on: isWindows,
    file: 'test/live.test.ts',
    test: /another writer opens the log|without a page|whose page is cut|loses the page/,
    reason: 'the test removes or cuts the page under the processes that map it, which Windows refuses',
  },
  {
    on: isWindows,
    file: 'test/follower-without-writer.test.ts',
    test: /next writer has no page/,
    reason: 'the test removes the page that a process maps, which Windows refuses',
  },
  {
    on: isWindows,
    file: 'test/first-segment.test.ts',
    test: /about 1 MiB of the disk|twice as long as the previous one|long enough for the first record/,
    reason: 'Wine does not allocate blocks, so a segment is as long as its records',
  },
  {
    on: isWindows,
    file: 'test/lifecycle.test.ts',
    test: /a hundred opens and closes/,
    reason: "Wine shows the /proc of Linux, and a hundred opens under Wine exceed the test's timeout",
  },
  {
    on: isEmulated,
    file: 'test/environments.test.ts',
    test: /while promises are pending/,
    reason: "Node takes 10 s to start under qemu, and eight workers exceed the test's timeout",
  },
  {
    on: isEmulated,
    file: 'test/cli/doctor.test.ts',
    test: /by its flush/,
    reason: 'under qemu, a flush to memory takes as long as a flush to a fast disk',
  },
  {
    on: () => true,
    file: 'test/package.test.ts',
    test: /types/,
    reason: 'the TypeScript compiler is a binary of this machine',
  },
  {
    on: () => true,
    file: 'test/streams/shared-api.test.ts',
    test: /time to live|if the clock is set back/,
    reason: 'the test sets the clock, and the owner of the built package is a thread with its own clock',
  },
  {
    on: isWindows,
    file: 'test/package.test.ts',
    test: /README links to/,
    reason: 'npm is not installed in Wine',
  },
]

/** The reason why `file` is not run on `target`, or undefined. */
export function notFor(target, file) {
  return FILES.find(({ on, files }) => on(target) && file.startsWith(files))?.reason
}

/** The reason why the test may fail on `target`, or undefined. */
export function notOn(target, file, name) {
  return TESTS.find((entry) => entry.on(target) && entry.file === file && entry.test.test(name))?.reason
}

/**
 * Environment variables with the number of rounds of tests: fewer rounds if each starts a process under qemu or Wine.
 */
export function settingsOn(target) {
  const few = { DURLOG_KILL_ROUNDS: '12', DURLOG_SHARED_KILLS: '2', DURLOG_WORKER_ROUNDS: '8' }
  return isWindows(target) || isEmulated(target) ? few : {}
}
