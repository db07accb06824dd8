// Installs the protocol's Python client, which test/http uses, with pip into the folder for downloads.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { cacheFolder } from './cache.mjs'

const VERSION = '0.1.0'
const VENV = cacheFolder(`durable-streams-${VERSION}`)
const PYTHON = join(VENV, ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']))

function succeeds(program, ...args) {
  try {
    execFileSync(program, args, { stdio: 'ignore', timeout: 120_000 })
    return true
  } catch {
    return false
  }
}

/** The path of a Python that has the client; undefined if it cannot be installed. */
export function pythonWithClient() {
  const hasClient = () => succeeds(PYTHON, '-c', 'import durable_streams')
  if (hasClient()) return PYTHON
  succeeds('python3', '-m', 'venv', VENV)
  succeeds(PYTHON, '-m', 'pip', 'install', '--quiet', `durable-streams==${VERSION}`)
  return hasClient() ? PYTHON : undefined
}
