// What `npm run test:on` does not run, and what the systems that it plays cannot do. A test that fails for a reason of
// durlog's does not belong here.

const isWindows = ({ system }) => system === 'win'
const isEmulated = ({ system, arch }) => system === 'linux' && arch === 'arm64'
const isLinux = ({ system }) => system === 'linux'

/** Files, by the beginning of their path. */
const FILES = [
  {
    on: isWindows,
    files: 'test/faults/',
    reason: 'faults are injected into Linux: loop devices, tmpfs, a preloaded library',
  },
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
  { on: () => true, files: 'test/electron.test.ts', reason: 'Electron is run natively' },
]

/** Tests by name. */
const TESTS = [
  {
    on: isWindows,
    file: 'test/damage.test.ts',
    test: /link/,
    reason: "Wine follows a link of Linux' without showing that it is one",
  },
  {
    on: isWindows,
    file: 'test/live.test.ts',
    test: /one writer to the next|without a page|whose page is cut|loses the page/,
    reason: 'the test removes or cuts the page under the processes that map it, which Windows refuses',
  },
  {
    on: isWindows,
    file: 'test/lifecycle.test.ts',
    test: /three hundred opens and closes/,
    reason: "Wine shows Linux' /proc, and three hundred opens take it longer than a test has",
  },
  {
    on: isEmulated,
    file: 'test/environments.test.ts',
    test: /while promises are pending/,
    reason: 'a Node takes 10 s to start under qemu, and eight workers longer than a test has',
  },
  {
    on: isEmulated,
    file: 'test/cli/doctor.test.ts',
    test: /by its flush/,
    reason: 'a flush of memory takes as long under qemu as one of a fast disk',
  },
  {
    on: () => true,
    file: 'test/package.test.ts',
    test: /types/,
    reason: 'the TypeScript compiler is a binary of this machine',
  },
]

/** Why `file` is not run on `target`, or nothing. */
export function notFor(target, file) {
  return FILES.find(({ on, files }) => on(target) && file.startsWith(files))?.reason
}

/** Why the test may fail on `target`, or nothing. */
export function notOn(target, file, name) {
  return TESTS.find((entry) => entry.on(target) && entry.file === file && entry.test.test(name))?.reason
}

/** Settings of tests that take a number of rounds: fewer where each round starts a process under qemu or Wine. */
export function settingsOn(target) {
  const few = { DURLOG_KILL_ROUNDS: '12', DURLOG_SHARED_KILLS: '2', DURLOG_WORKER_ROUNDS: '8' }
  return isWindows(target) || isEmulated(target) ? few : {}
}
