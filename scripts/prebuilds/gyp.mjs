// Reads the sources, defines and flags of each addon for one system from binding.gyp, so that the cross build and
// node-gyp use the same lists.
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { batchFiles } from '../batches.mjs'

const require = createRequire(import.meta.url)
const FLAGS = ['defines', 'cflags_cc', 'libraries']

/** Reads binding.gyp with Python, because it is a Python literal with comments. */
function readGyp() {
  const program = 'import ast, json; print(json.dumps(ast.literal_eval(open("binding.gyp").read())))'
  return JSON.parse(execFileSync('python3', ['-c', program], { encoding: 'utf8' }))
}

function holds(condition, system) {
  const match = /^OS=="(\w+)"$/.exec(condition)
  if (match === null)
    throw new Error(`binding.gyp: this script supports only conditions like OS=="linux", got ${condition}`)
  return match[1] === system
}

/** The lists `names` of `block`, including the entries that its conditions add for `system`. */
function resolveBlock(block, system, names) {
  const lists = Object.fromEntries(names.map((name) => [name, [...(block[name] ?? [])]]))
  for (const [condition, then, otherwise = {}] of block.conditions ?? []) {
    const chosen = resolveBlock(holds(condition, system) ? then : otherwise, system, names)
    for (const name of names) lists[name].push(...chosen[name])
  }
  return lists
}

function platformSources({ system, arch }) {
  const name = system === 'win' ? 'windows' : system
  const printed = execFileSync(process.execPath, ['scripts/platform-sources.mjs', name, arch], { encoding: 'utf8' })
  return printed.trim().split('\n')
}

/**
 * Reads binding.gyp for `target`. The sources are combined in batches, as by node-gyp.
 *
 * @returns {{ flags: string[], libraries: string[], core: string[], sourcesOf: (addon: string) => string[] }}
 */
export function readBuild(target) {
  const gyp = readGyp()
  const defaults = resolveBlock(gyp.target_defaults, target.system, FLAGS)
  const addonApi = dirname(require.resolve('node-addon-api'))
  const flags = defaults.cflags_cc.map((flag) => flag.replace('<(node_addon_api)', addonApi))
  return {
    flags: [...defaults.defines.map((define) => `-D${define}`), ...flags],
    libraries: defaults.libraries,
    core: batchFiles([...gyp.variables.core_sources, ...platformSources(target)]),
    sourcesOf(addon) {
      const name = `${addon}_sources`
      const sources = resolveBlock(gyp.variables, target.system, [name])[name]
      if (sources.length === 0) throw new Error(`binding.gyp has no list ${name}`)
      return batchFiles(sources)
    },
  }
}
