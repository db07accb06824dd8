// Finds or builds a nats-server for tests, and prints its path. Built servers are kept in build/.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const VERSION = 'v2.15.2'
const FOLDER = fileURLToPath(new URL('../build/nats-server', import.meta.url))
const NAME = process.platform === 'win32' ? 'nats-server.exe' : 'nats-server'
/** The first version with atomic batches. */
const OLDEST = [2, 12]

function checkVersion(path) {
  const printed = execFileSync(path, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString()
  const [, major, minor] = /v(\d+)\.(\d+)/.exec(printed) ?? []
  if (Number(major) > OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) >= OLDEST[1])) return path
  throw new Error(`${path} is ${printed.trim()}; ${OLDEST.join('.')} or later is needed`)
}

/** If Go was installed from its archive, it may not be on PATH. */
function findGo() {
  for (const go of ['go', '/usr/local/go/bin/go']) {
    try {
      execFileSync(go, ['version'], { stdio: 'ignore' })
      return go
    } catch {
      // Not installed.
    }
  }
  throw new Error('NATS_SERVER is not set, and there is no Go to build nats-server with')
}

const BUILD_TIMEOUT_MS = 300_000
const LOOK_AGAIN_MS = 200

/** Whether this process may build; several test files ask at the same time. */
function takeTurn(turn) {
  try {
    mkdirSync(turn)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  const { mtimeMs } = statSync(turn, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() }
  // The process that took the turn was killed.
  if (Date.now() - mtimeMs > BUILD_TIMEOUT_MS + 10_000) rmSync(turn, { recursive: true, force: true })
  else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_AGAIN_MS)
  return false
}

function build() {
  const built = join(FOLDER, VERSION, NAME)
  const turn = join(FOLDER, 'building')
  mkdirSync(FOLDER, { recursive: true })
  while (!existsSync(built)) {
    if (!takeTurn(turn)) continue
    try {
      if (!existsSync(built)) install(built)
    } finally {
      rmSync(turn, { recursive: true, force: true })
    }
  }
  return built
}

function install(built) {
  // The file has another name until it is complete.
  const bin = join(FOLDER, `making-${process.pid}`)
  mkdirSync(join(FOLDER, VERSION), { recursive: true })
  const env = { ...process.env, GOBIN: bin, GOFLAGS: '-buildvcs=false' }
  execFileSync(findGo(), ['install', `github.com/nats-io/nats-server/v2@${VERSION}`], {
    cwd: FOLDER,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: BUILD_TIMEOUT_MS,
  })
  renameSync(join(bin, NAME), built)
  rmSync(bin, { recursive: true, force: true })
}

/** The path of a nats-server: NATS_SERVER's, or one that is built once. Throws with the reason. */
export function natsServer() {
  return checkVersion(process.env.NATS_SERVER || build())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(natsServer())
