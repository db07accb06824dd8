// Records the sources that a binary was built from. A binary of older sources would load, but its first call of a new
// function would fail.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { ZIG_VERSION } from './zig.mjs'

const recordOf = (target) => `build/prebuilds/${target.name}/sources`

function digestOfSources() {
  const sources = ['src-native', 'binding.gyp', 'scripts/prebuilds/*.c', 'scripts/prebuilds/*.cc']
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...sources], { encoding: 'utf8' })
  const hash = createHash('sha256').update(ZIG_VERSION)
  const files = listed.split('\n').filter((path) => path !== '' && existsSync(path))
  for (const path of files.sort()) hash.update(`${path}\0`).update(readFileSync(path))
  return hash.digest('hex')
}

/** Records the sources. Must be called before the build reads the first source. */
export function beginRecord(target) {
  writeFileSync(recordOf(target), digestOfSources())
}

export function isOfTheseSources(target) {
  return existsSync(recordOf(target)) && readFileSync(recordOf(target), 'utf8') === digestOfSources()
}
