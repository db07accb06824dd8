// The cross compiler: a pinned version of zig from PyPI, in a separate Python environment below build/. Its caches are
// there too.
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'

export const ZIG_VERSION = '0.17.1'
/** The SHA-256 of the compiler's wheel for Linux x64. */
const ZIG_SHA256 = 'ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54'
const FOLDER = 'build/zig'
const MAX_OUTPUT_BYTES = 64 * 2 ** 20
const run = promisify(execFile)

export const PYTHON = resolve(FOLDER, 'venv/bin/python')
// The output must not depend on the caches of other programs or on the user.
const environment = {
  ...process.env,
  ZIG_GLOBAL_CACHE_DIR: resolve(FOLDER, 'cache'),
  ZIG_LOCAL_CACHE_DIR: resolve(FOLDER, 'cache'),
  SOURCE_DATE_EPOCH: '0',
}

/** Installs the compiler unless it is already installed. */
export function installZig() {
  const mark = `${FOLDER}/version`
  if (existsSync(mark) && readFileSync(mark, 'utf8') === ZIG_VERSION) return
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  console.log(`installing zig ${ZIG_VERSION} from PyPI`)
  const stdio = ['ignore', 'inherit', 'inherit']
  execFileSync('python3', ['-m', 'venv', `${FOLDER}/venv`], { stdio })
  const requirements = `${FOLDER}/requirements.txt`
  writeFileSync(requirements, `ziglang==${ZIG_VERSION} --hash=sha256:${ZIG_SHA256}\n`)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary=:all:']
  execFileSync(PYTHON, [...pip, '--require-hashes', '-r', requirements], { stdio })
  writeFileSync(mark, ZIG_VERSION)
}

/** The folder of the compiler, with the sources and licences of its libraries. */
export function zigFolder() {
  const program = 'import os, ziglang; print(os.path.dirname(ziglang.__file__))'
  return execFileSync(PYTHON, ['-c', program], { encoding: 'utf8' }).trim()
}

/** Runs `zig <args>` and resolves with its output. Rejects with the compiler's output if it fails. */
export async function zig(args) {
  try {
    const options = { env: environment, maxBuffer: MAX_OUTPUT_BYTES }
    const { stdout, stderr } = await run(PYTHON, ['-m', 'ziglang', ...args], options)
    return stdout + stderr
  } catch (error) {
    throw new Error(`zig ${args.join(' ')}\n${error.stderr ?? error.message}`)
  }
}
