// Compiles the C++ programs that use the core without Node: its tests, the explorers and the fuzzers.
// All programs share the objects in build/core. An object is recompiled if its source, a header or the flags have
// changed.
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { arch, env, pid, platform } from 'node:process'
import { promisify } from 'node:util'
import { inBatches } from './batches.mjs'

const execute = promisify(execFile)
const hostCommand = env.CXX ?? 'c++'

/**
 * A compiler: `run` starts it with arguments; `name` is part of the names of its objects, which compilers do not share.
 */
const HOST = { name: hostCommand, run: (args) => execute(hostCommand, args, { maxBuffer: 1 << 26 }) }

// gcc's -Wconversion does not include -Wsign-conversion; clang's does.
export const WARNINGS = '-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror'.split(' ')
export const CORE_FLAGS = ['-std=c++17', '-O1', '-fno-exceptions', '-Isrc-native', '-pthread']
/** For the core's tests, which run quickly without optimization and compile faster. */
export const UNOPTIMIZED = '-O0'
export const DEBUG_FLAGS = [UNOPTIMIZED, '-g3']
/** The flag enables the points at which a test can stop a writer. It affects only sources that include the header. */
const STEPS = { header: 'src-native/shared/steps.h', flag: '-DDURLOG_TEST_STEPS' }
/** The headers by which the explorers replace headers of src-native. Both use the same, to share most objects. */
export const STAND_INS = 'test/core/stand_in'

/** The flags for the sanitizer `name` ("address", "undefined" or "thread"); none if `name` is empty. */
export function sanitizerFlags(name) {
  if (!name) return []
  return [`-fsanitize=${name}`, '-fno-sanitize-recover=all', '-fno-omit-frame-pointer', '-g']
}

const INCLUDE = /^#include "(.+)"/gm
const includedBy = new Map()

/** The headers of the repository that `file` includes, directly or indirectly. */
function includesOf(file) {
  const known = includedBy.get(file)
  if (known !== undefined) return known
  const found = new Set()
  includedBy.set(file, found)
  for (const [, name] of readFileSync(file, 'utf8').matchAll(INCLUDE)) {
    const path = ['src-native', dirname(file), 'test/core']
      .map((folder) => join(folder, name))
      .find((candidate) => existsSync(candidate))
    // An unknown header could have a stand-in. If only some objects of a program used it, behaviour would be undefined.
    if (path === undefined) throw new Error(`${file} includes "${name}", which is not in the folders searched here`)
    found.add(path)
    for (const each of includesOf(path)) found.add(each)
  }
  return found
}

/**
 * Returns `sources` with their compiler flags, for a program that enables the test steps and, if `standIns` names a
 * folder, uses its headers in place of the headers of src-native with the same names. All sources of a folder get the
 * same flags, so that they can be compiled in the same batches. Folders that include none of these headers get exactly
 * `flags`, so that programs share their objects.
 */
export function withTestHooks(sources, flags, standIns = undefined) {
  const replaced =
    standIns === undefined
      ? []
      : readdirSync(standIns, { recursive: true })
          .filter((name) => name.endsWith('.h'))
          .map((name) => join('src-native', name))
  const included = new Map()
  for (const source of sources) {
    const folder = dirname(source)
    included.set(folder, new Set([...(included.get(folder) ?? []), ...includesOf(source)]))
  }
  return sources.map((source) => {
    const includes = included.get(dirname(source))
    const own = [
      ...(replaced.some((header) => includes.has(header)) ? [`-I${standIns}`] : []),
      ...(includes.has(STEPS.header) ? [STEPS.flag] : []),
    ]
    // The folder of the stand-ins is searched before src-native.
    return { source, flags: [...own, ...flags] }
  })
}

const HOST_SYSTEM = { linux: 'linux', darwin: 'mac', win32: 'windows' }[platform] ?? 'linux'

/** Every source of the core: all of src-native except the binding and the bench. */
export function coreSources(system = HOST_SYSTEM, processor = arch) {
  const chosen = execFileSync(process.execPath, ['scripts/platform-sources.mjs', system, processor]).toString()
  const common = [
    'base',
    'json',
    'record',
    'segment',
    'recovery',
    'live',
    'cursor',
    'read',
    'inspect',
    'retention',
    'streams',
    'write',
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
    'src-native/checksum/crc32c_splice.cc',
    'src-native/checksum/crc32c_table.cc',
    ...chosen.trim().split('\n'),
  ]
}

/**
 * The sources of a program that replaces the platform by a simulated one. Of the platform's sources, only the one for
 * huge pages is linked, so a call that would reach the real disk does not link. The watcher of the live page is left
 * out: it is a thread.
 */
export function simulatedCoreSources() {
  return coreSources().filter((source) => !/\/platform\/(?!huge_pages)|\/live_watcher\./.test(source))
}

/**
 * The object that the build of the addon made from `source` on Linux. Undefined if there is none, if binding.gyp or a
 * file that it was made from is newer, or if CXX names a compiler.
 */
export function builtObject(source) {
  const object = join('build/Release/obj.target/durlog_core', source.replace(/cc$/, 'o'))
  if (env.CXX !== undefined || !existsSync(object)) return undefined
  const made = statSync(object).mtimeMs
  const files = ['binding.gyp', source, ...includesOf(source)]
  return files.every((file) => statSync(file).mtimeMs < made) ? object : undefined
}

/** The test files of the core that `system` can run; with `folders`, only the ones in these folders below test/core. */
export function coreTests(system = HOST_SYSTEM, folders = []) {
  const others = system === 'windows' ? '_posix_test.cc' : '_windows_test.cc'
  const wanted = (path) => folders.length === 0 || folders.includes(dirname(path))
  return readdirSync('test/core', { recursive: true })
    .filter((path) => path.endsWith('_test.cc') && !path.endsWith(others) && wanted(path))
    .sort()
    .map((path) => `test/core/${path}`)
}

// `dependencies` is the compiler's list of the files that the object depends on. The object is stale if one is newer.
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
    // Written under another name and renamed, because a parallel build of another program may use the same object.
    const making = `${object}.${pid}`
    await compiler.run([...flags, '-MMD', '-MF', `${making}.d`, '-c', source, '-o', making])
    renameSync(making, object)
    renameSync(`${making}.d`, dependencies)
  }
  return object
}

async function compileAll(sources, folder, compiler, reused) {
  const objects = new Array(sources.length)
  let next = 0
  const worker = async () => {
    while (next < sources.length) {
      const index = next++
      const { source, flags } = sources[index]
      const built = flags.join(' ') === reused?.join(' ') ? builtObject(source) : undefined
      objects[index] = built ?? (await compile(source, flags, folder, compiler))
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
  return objects
}

/**
 * Builds `output` from `sources` ([{ source, flags }]) and returns its path. Rejects with the compiler's output. For
 * sources with exactly the flags `reused`, objects of the addon's build are linked if they are up to date.
 */
export async function buildProgram(output, sources, linkFlags, { compiler = HOST, reused } = {}) {
  const folder = 'build/core'
  mkdirSync(folder, { recursive: true })
  mkdirSync(dirname(output), { recursive: true })
  // Batches are used only for this system: sources for other systems may define the same names in unnamed namespaces.
  const compiled = compiler === HOST ? inBatches(sources) : sources
  const objects = await compileAll(compiled, folder, compiler, reused)
  await compiler.run([...objects, ...linkFlags, '-pthread', '-o', output])
  return output
}
