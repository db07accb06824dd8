// Combines C++ sources into fewer files that include them: most of the time of a compiler goes into the headers.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { pid } from 'node:process'

const FOLDER = 'build/batches'
/** A change of one source compiles its batch, so a batch is small; two processors compile several at the same time. */
const MOST_FILES = 8
const SEPARATE = new Set([
  // gcc optimizes it for minutes in a file with the sources that it calls.
  'src-native/log/commit_cycle.cc',
  // Each has a name in an unnamed namespace that another file of its folder has too.
  'src-native/cursor/cut_list.cc',
  'src-native/segment/segment.cc',
  'src-native/shared/members_lock.cc',
  'src-native/shared/members_page.cc',
  'src-native/shared/shared_trim_job.cc',
  // It defines a macro before the first header of the system.
  'src-native/platform/windows_random.cc',
])

/** A file that includes `sources`. Its name depends on its content: programs differ in the sources of a batch. */
function writeBatch(sources) {
  const text = sources.map((source) => `#include "${relative(FOLDER, source).replaceAll('\\', '/')}"\n`).join('')
  const key = createHash('sha1').update(text).digest('hex').slice(0, 8)
  const path = join(FOLDER, `${dirname(sources[0]).replaceAll('/', '-')}-${key}.cc`)
  if (!existsSync(path)) {
    // Renamed, because another program that is being built may compile the same batch.
    writeFileSync(`${path}.${pid}`, text)
    renameSync(`${path}.${pid}`, path)
  }
  return path
}

/** `sources` ([{ source, flags }]) as batches: files of one folder with the same flags. */
export function inBatches(sources) {
  mkdirSync(FOLDER, { recursive: true })
  const groups = new Map()
  const result = []
  for (const each of sources) {
    if (SEPARATE.has(each.source) || isAbsolute(each.source)) {
      result.push(each)
      continue
    }
    const key = `${dirname(each.source)} ${each.flags.join(' ')}`
    const group = groups.get(key) ?? []
    groups.set(key, group)
    group.push(each)
  }
  for (const group of groups.values()) {
    const size = Math.ceil(group.length / Math.ceil(group.length / MOST_FILES))
    for (let first = 0; first < group.length; first += size) {
      const batch = group.slice(first, first + size)
      const paths = batch.map(({ source }) => source)
      result.push({ source: writeBatch(paths), flags: batch[0].flags })
    }
  }
  return result
}
