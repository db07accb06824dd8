// Combines C++ sources into fewer files that include them: most of the time of a compiler goes into the headers.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'

const FOLDER = 'build/core/batches'
/** A change of one source compiles its batch, so a batch is small; two processors compile several at the same time. */
const MOST_FILES = 8
/** Each uses a name that another file of its folder uses, in an unnamed namespace. */
const SEPARATE = new Set([
  'src-native/cursor/cut_list.cc',
  'src-native/segment/segment.cc',
  'src-native/shared/members_page.cc',
  'src-native/shared/members_lock.cc',
  'src-native/shared/shared_trim_job.cc',
])

/** A file that includes `sources`. It is written only if its text changes, because its time decides what is compiled. */
function writeBatch(name, sources) {
  const path = join(FOLDER, name)
  const text = sources.map((source) => `#include "${source}"\n`).join('')
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text)
  return path
}

/**
 * `sources` ([{ source, flags }]) as batches of files of one folder with the same flags. Only for code that is not
 * optimized: gcc's optimizations take minutes for some batches.
 */
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
  const numbers = new Map()
  for (const group of groups.values()) {
    const count = Math.ceil(group.length / MOST_FILES)
    const size = Math.ceil(group.length / count)
    for (let first = 0; first < group.length; first += size) {
      const batch = group.slice(first, first + size)
      const folder = dirname(batch[0].source).replaceAll('/', '-')
      const number = (numbers.get(folder) ?? 0) + 1
      numbers.set(folder, number)
      const paths = batch.map(({ source }) => source)
      result.push({ source: writeBatch(`${folder}-${number}.cc`, paths), flags: [...batch[0].flags, '-iquote', '.'] })
    }
  }
  return result
}
