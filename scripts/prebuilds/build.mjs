// Builds prebuilds/<target>/*.node for every system on a Linux x64 machine. The output has the same bytes on every such
// machine.
//
//   npm run build:prebuilds [-- linux-x64 win32-x64 ...]
//
// Sources, defines and flags come from binding.gyp. docs/RELEASING.md describes how the result is used.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { arch, argv, chdir, exit, platform } from 'node:process'
import { fileURLToPath } from 'node:url'
import { readBuild } from './gyp.mjs'
import { linkedArchives, recordLinked, reportFlags } from './linked.mjs'
import { beginRecord } from './sources.mjs'
import { addonsOf, chooseTargets } from './targets.mjs'
import { windowsImportsSource } from './windows-imports.mjs'
import { installZig, zig } from './zig.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const require = createRequire(import.meta.url)

// -fno-sanitize=undefined: by default, zig adds traps for undefined behaviour, which the core's tests check already.
// -fno-rtti: node-gyp builds without run-time type information too.
const COMPILE = ['-g0', '-fno-rtti', '-fno-sanitize=undefined', '-ffunction-sections', '-fdata-sections', '-fPIC']
// No exception passes through the addon, and unwind tables would be an eighth of its size. Windows needs them to find
// the handler of a fault. On macOS, every function keeps a frame pointer, which is enough for a debugger.
const NO_UNWIND = ['-fno-asynchronous-unwind-tables', '-fno-unwind-tables']
// For size: code that waits for the system, or runs when a log is opened, checked or trimmed.
const SMALL = /src-native-(cursor|inspect|platform|recovery|retention)-/
const NO_ENTITLEMENTS = '<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict></dict></plist>\n'
const EXPORTS = ['napi_register_module_v1', 'node_api_module_get_api_version_v1']

/** @param {import('./targets.mjs').Target} target */
function compileFlags(target, build) {
  // Relative to the root, so that the objects contain no path of this machine.
  const headers = relative('.', require('node-api-headers').include_dir)
  // With unwind tables, the code for Windows fits into the size budget only if all of it is compiled for size.
  const windows = ['-Os', '-mllvm', '-inline-threshold=25', '-DNAPI_EXTERN=__declspec(dllimport)']
  const own = { win: windows, linux: NO_UNWIND, mac: NO_UNWIND }[target.system]
  const flags = build.flags.map((flag) => (flag.startsWith(root) ? relative('.', flag) : flag))
  return ['-target', target.triple, ...flags, '-isystem', headers, '-Isrc-native', ...COMPILE, ...own]
}

/** The arguments of zig that link `objects` to `output`. */
function linkCommand(target, build, objects, output) {
  if (target.system === 'mac') return macLinkCommand(target, objects, output)
  const common = ['c++', '-target', target.triple, '-shared', '-s', '-O2', ...objects, '-o', output]
  if (target.system === 'win') return common
  // Without a version script, zig exports operator new and delete, which would replace the host's.
  const script = join(dirname(output), 'exports.map')
  writeFileSync(script, `{ global: ${EXPORTS.map((name) => `${name};`).join(' ')} local: *; };\n`)
  const dropped = ['-Wl,--gc-sections', `-Wl,--version-script=${script}`]
  return [...common, ...build.libraries, ...dropped, '-Wl,-z,undefs', '-Wl,--build-id=none']
}

/**
 * `zig build-lib`: zig's linker signs code for Intel processors only with entitlements, which `zig c++` cannot pass.
 */
function macLinkCommand({ triple }, objects, output) {
  const entitlements = join(dirname(output), 'entitlements.plist')
  writeFileSync(entitlements, NO_ENTITLEMENTS)
  const common = ['build-lib', '-dynamic', '-target', triple, '-fstrip', '-O', 'ReleaseFast', '-lc++']
  const names = ['-fallow-shlib-undefined', '-install_name', `@rpath/${basename(output)}`]
  return [
    ...common,
    ...objects,
    '-dead_strip',
    '--discard-all',
    ...names,
    '--entitlements',
    entitlements,
    `-femit-bin=${output}`,
  ]
}

/** Runs `jobs`, one per processor at a time. */
async function runAll(jobs) {
  const waiting = [...jobs]
  const lane = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await job()
  }
  await Promise.all(Array.from({ length: availableParallelism() }, lane))
}

/** Compiles `sources` into `folder`. Returns the paths of the objects, in the same order. */
async function compile(sources, flags, folder) {
  const objects = sources.map((source) => join(folder, `${source.replaceAll('/', '-')}.o`))
  await runAll(
    sources.map((source, i) => () => {
      const [driver, own] = source.endsWith('.c') ? ['cc', ['-target', flags[1], '-O2', '-g0']] : ['c++', flags]
      const size = SMALL.test(objects[i]) ? ['-Os'] : []
      return zig([driver, ...own, ...size, '-c', source, '-o', objects[i]])
    }),
  )
  return objects
}

/** Sources that replace parts of the C++ runtime and, on Windows, the import library. */
function runtimeSources(target, folder) {
  if (target.system === 'mac') return ['scripts/prebuilds/hidden_runtime.c']
  if (target.system === 'linux') return ['scripts/prebuilds/no_exceptions.cc']
  const imports = join(folder, 'imports.c')
  writeFileSync(imports, windowsImportsSource())
  return ['scripts/prebuilds/no_exceptions.cc', imports]
}

/** @param {import('./targets.mjs').Target} target */
async function buildTarget(target) {
  const build = readBuild(target)
  const folder = join('build/prebuilds', target.name)
  const output = join('prebuilds', target.name)
  for (const path of [folder, output]) {
    rmSync(path, { recursive: true, force: true })
    mkdirSync(path, { recursive: true })
  }
  beginRecord(target)
  const flags = compileFlags(target, build)
  const core = await compile([...build.core, ...runtimeSources(target, folder)], flags, folder)
  const archives = new Set()
  for (const addon of addonsOf(target)) {
    const objects = [...core, ...(await compile(build.sourcesOf(addon), flags, folder))]
    const file = join(output, `${addon}.node`)
    const linked = join(folder, `${addon}.node`)
    const report = await zig([...linkCommand(target, build, objects, linked), ...reportFlags(target)])
    for (const name of linkedArchives(target, report)) archives.add(name)
    // Linked in a separate folder: for Windows, the linker also writes an import library there.
    const bytes = readFileSync(linked)
    writeFileSync(file, bytes)
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
    console.log(`${file}  ${bytes.length.toLocaleString('en-US')} bytes  sha256 ${digest}…`)
  }
  recordLinked(target, [...archives].sort())
}

async function main(names) {
  if (platform !== 'linux' || arch !== 'x64') throw new Error(`${basename(argv[1])} runs on Linux x64 only`)
  chdir(root)
  const targets = chooseTargets(names)
  installZig()
  for (const target of targets) await buildTarget(target)
}

main(argv.slice(2)).catch((error) => {
  console.error(error.message)
  exit(1)
})
