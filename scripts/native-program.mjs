// Compiles C++ programs that use the core without Node: its tests, crash explorer, fuzzers.
// Objects are kept under build/ and made anew when a source, a header or the flags are newer.
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { arch, env, platform } from 'node:process'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const hostCommand = env.CXX ?? 'c++'

/** A compiler: `run` takes its arguments, `name` distinguishes its objects from another one's. */
const HOST = { name: hostCommand, run: (args) => execute(hostCommand, args, { maxBuffer: 1 << 26 }) }

// clang's -Wconversion has -Wsign-conversion in it, gcc's has not.
export const WARNINGS = '-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror'.split(' ')
export const CORE_FLAGS = ['-std=c++17', '-O1', '-g', '-fno-exceptions', '-Isrc-native', '-pthread']

/** `-fsanitize=...` for `name` (address, undefined, thread), or nothing. */
export function sanitizerFlags(name) {
  if (!name) return []
  return [`-fsanitize=${name}`, '-fno-sanitize-recover=all', '-fno-omit-frame-pointer']
}

const HOST_SYSTEM = { linux: 'linux', darwin: 'mac', win32: 'windows' }[platform] ?? 'linux'

/** Every source of the core: all of src-native but the binding and the bench. */
export function coreSources(system = HOST_SYSTEM, processor = arch) {
  const chosen = execFileSync(process.execPath, ['scripts/platform-sources.mjs', system, processor]).toString()
  const common = [
    'base',
    'record',
    'segment',
    'recovery',
    'live',
    'cursor',
    'read',
    'inspect',
    'retention',
    'log',
    'shared',
  ].flatMap((layer) =>
    readdirSync(`src-native/${layer}`)
      .filter((name) => name.endsWith('.cc'))
      .map((name) => `src-native/${layer}/${name}`),
  )
  return [
    ...common,
    'src-native/checksum/crc32c.cc',
    'src-native/checksum/crc32c_table.cc',
    ...chosen.trim().split('\n'),
  ]
}

/** The core's tests that `system` can run, with the folders of their rooms. */
export function coreTests(system = HOST_SYSTEM) {
  const others = system === 'windows' ? '_posix_test.cc' : '_windows_test.cc'
  return readdirSync('test/core', { recursive: true })
    .filter((path) => path.endsWith('_test.cc') && !path.endsWith(others))
    .sort()
    .map((path) => `test/core/${path}`)
}

// The compiler's own list of what a source includes says whether its object is still good.
function isFresh(object, dependencies) {
  if (!existsSync(object) || !existsSync(dependencies)) return false
  const made = statSync(object).mtimeMs
  const files = readFileSync(dependencies, 'utf8').replace(/\\\n/g, ' ').split(/\s+/).slice(1)
  return files.every((file) => file === '' || (existsSync(file) && statSync(file).mtimeMs < made))
}

async function compile(source, flags, folder, compiler) {
  const key = createHash('sha1')
    .update(`${compiler.name} ${flags.join(' ')} ${source}`)
    .digest('hex')
    .slice(0, 12)
  const object = join(folder, `${basename(source, '.cc')}-${key}.o`)
  const dependencies = `${object}.d`
  if (!isFresh(object, dependencies)) {
    await compiler.run([...flags, '-MMD', '-MF', dependencies, '-c', source, '-o', object])
  }
  return object
}

async function compileAll(sources, folder, compiler) {
  const objects = new Array(sources.length)
  let next = 0
  const worker = async () => {
    while (next < sources.length) {
      const index = next++
      const { source, flags } = sources[index]
      objects[index] = await compile(source, flags, folder, compiler)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
  return objects
}

/**
 * Builds `output` from `sources` ([{ source, flags }]) and returns its path. Rejects with the
 * compiler's own words.
 */
export async function buildProgram(output, sources, linkFlags, compiler = HOST) {
  const folder = 'build/core'
  mkdirSync(folder, { recursive: true })
  mkdirSync(dirname(output), { recursive: true })
  const objects = await compileAll(sources, folder, compiler)
  await compiler.run([...objects, ...linkFlags, '-pthread', '-o', output])
  return output
}
