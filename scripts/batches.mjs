// Combines C++ sources into fewer files that include them, because a compiler spends most of its time on the headers.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { pid } from 'node:process'

const FOLDER = 'build/batches'
/** A change to one source recompiles its whole batch, so batches are small. Small batches also compile in parallel. */
const MOST_FILES = 8
/**
 * The core's tests are combined across folders, the explorers' sources are not: GoogleTest's header takes half of the
 * time for a small batch.
 */
const TESTS = 'test/core'
const MOST_TEST_FILES = 24
/** Sources that are not combined with others. */
const SEPARATE = new Set([
  // In one file with the sources that they call, gcc takes minutes to optimize them.
  'src-native/log/commit_cycle.cc',
  'src-native/shared/shared_append.cc',
  // It defines a macro that must precede the first system header.
  'src-native/platform/windows_random.cc',
])

/**
 * Sources that are combined only with each other: into an append, gcc inlines all functions of its file that it calls.
 * In one file with the rest of their folder, that takes gcc 20 s more.
 */
const APPEND = new Set(['append.cc', 'append_point.cc', 'mapped_frames.cc'].map((name) => `src-native/log/${name}`))

/**
 * Writes a file that includes `sources` and returns its path. The name contains a hash of the content, because programs
 * combine different sources.
 */
function writeBatch(sources) {
  const text = sources.map((source) => `#include "${relative(FOLDER, source).replaceAll('\\', '/')}"\n`).join('')
  const key = createHash('sha1').update(text).digest('hex').slice(0, 8)
  const path = join(FOLDER, `${dirname(sources[0]).replaceAll('/', '-')}-${key}.cc`)
  if (!existsSync(path)) {
    // Written under another name and renamed, because a parallel build of another program may use the same batch.
    writeFileSync(`${path}.${pid}`, text)
    renameSync(`${path}.${pid}`, path)
  }
  return path
}

/** The folder whose sources are combined. */
function batchFolder(source) {
  return source.endsWith('_test.cc') ? TESTS : dirname(source)
}

/** Combines `sources` ([{ source, flags }]) that are in the same folder, or are tests, and have the same flags. */
export function inBatches(sources) {
  mkdirSync(FOLDER, { recursive: true })
  const groups = new Map()
  const result = []
  for (const each of sources) {
    if (SEPARATE.has(each.source) || isAbsolute(each.source)) {
      result.push(each)
      continue
    }
    const key = `${batchFolder(each.source)} ${APPEND.has(each.source)} ${each.flags.join(' ')}`
    const group = groups.get(key) ?? []
    groups.set(key, group)
    group.push(each)
  }
  for (const group of groups.values()) {
    const most = batchFolder(group[0].source) === TESTS ? MOST_TEST_FILES : MOST_FILES
    const size = Math.ceil(group.length / Math.ceil(group.length / most))
    for (let first = 0; first < group.length; first += size) {
      const batch = group.slice(first, first + size)
      const paths = batch.map(({ source }) => source)
      result.push({ source: writeBatch(paths), flags: batch[0].flags })
    }
  }
  return result
}

/** Combines the sources `paths`, which have the same flags, and returns the path of each file to compile. */
export function batchFiles(paths) {
  return inBatches(paths.map((source) => ({ source, flags: [] }))).map(({ source }) => source)
}
