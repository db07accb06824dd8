// Finds or builds a nats-server for tests, and prints its path. Servers that were built are kept in build/nats-server.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const VERSION = 'v2.15.2'
const FOLDER = fileURLToPath(new URL('../build/nats-server', import.meta.url))
const NAME = process.platform === 'win32' ? 'nats-server.exe' : 'nats-server'
/** The first version that supports atomic batches. */
const OLDEST = [2, 12]

function checkVersion(path) {
  const printed = execFileSync(path, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString()
  const [, major, minor] = /v(\d+)\.(\d+)/.exec(printed) ?? []
  if (Number(major) > OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) >= OLDEST[1])) return path
  throw new Error(`${path} is ${printed.trim()}; ${OLDEST.join('.')} or later is needed`)
}

/** The Go command. A Go that was installed from its archive may not be on PATH. */
function findGo() {
  for (const go of ['go', '/usr/local/go/bin/go']) {
    try {
      execFileSync(go, ['version'], { stdio: 'ignore' })
      return go
    } catch {
      // Not installed.
    }
  }
  throw new Error('no nats-server: set NATS_SERVER to its path, or install Go, with which it is built')
}

const BUILD_TIMEOUT_MS = 300_000
const LOOK_AGAIN_MS = 200

/**
 * Tries to get the exclusive right to build the server, because test files run in parallel. Returns false after
 * LOOK_AGAIN_MS if another process has it.
 */
function takeTurn(turn) {
  try {
    mkdirSync(turn)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  const { mtimeMs } = statSync(turn, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() }
  // After this time, the process that had the right must have been killed.
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
  // Built in another folder and renamed when complete.
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

/** The path of a nats-server: the value of NATS_SERVER, or a server that is built once. Throws if there is neither. */
export function natsServer() {
  return checkVersion(process.env.NATS_SERVER || build())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(natsServer())
