// Checks a binary before it is published, by reading its file.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { readElf } from './elf.mjs'
import { readMacho } from './macho.mjs'
import { readPe } from './pe.mjs'
import { isOfTheseSources } from './sources.mjs'
import { GLIBC_FLOOR, MACOS_FLOOR } from './targets.mjs'
import { NAPI_VERSION, nodeApiSymbols } from './windows-imports.mjs'

const require = createRequire(import.meta.url)
const READERS = { elf: readElf, macho: readMacho, pe: readPe }
const SIZE_BUDGET_BYTES = 800_000
const ENTRY = 'napi_register_module_v1'

/** The libraries that a binary may need: every system of the kind has them. */
const SYSTEM_LIBRARIES = {
  glibc: /^(libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|librt\.so\.1|ld-linux-(x86-64|aarch64)\.so\.[12])$/,
  musl: /^libc\.(so|musl-(x86_64|aarch64)\.so\.1)$/,
  mac: /^\/usr\/lib\/libSystem\.B\.dylib$/,
  win: /^(kernel32|ntdll|advapi32|api-ms-win-crt-[\w-]+)\.dll$/i,
}

/** Electron does not allow buffers on memory that it did not allocate. */
const EXTERNAL_MEMORY = /^(napi_create_external_(arraybuffer|buffer)|node_api_create_external_.*)$/

/** Compares versions numerically: "2.9" is below "2.28". */
function isAbove(version, floor) {
  const [left, right] = [version, floor].map((text) => text.split('.').map(Number))
  return left[0] > right[0] || (left[0] === right[0] && left[1] > right[1])
}

function isForeign(name) {
  return /^(_ZN?K?2v8|v8::|\?.*@v8@|uv_|_ZN4node|node::)/.test(name)
}

function symbolProblems({ imports, exports }) {
  const allowed = new Set(nodeApiSymbols())
  const problems = []
  for (const { name } of imports) {
    if (isForeign(name)) problems.push(`imports ${name}: not Node-API`)
    if (EXTERNAL_MEMORY.test(name)) problems.push(`imports ${name}: external memory`)
    if (/^(napi|node_api)_/.test(name) && !allowed.has(name)) {
      problems.push(`imports ${name}: not in Node-API ${NAPI_VERSION}`)
    }
  }
  for (const name of exports.filter((name) => /^_Z|^__cxa/.test(name))) {
    problems.push(`exports ${name} of the C++ runtime: the host's would replace it, or be replaced by it`)
  }
  if (!exports.includes(ENTRY)) problems.push(`does not export ${ENTRY}`)
  return problems
}

function floorProblems(target, { imports, floor }) {
  if (target.system === 'mac') return floor === MACOS_FLOOR ? [] : [`needs macOS ${floor}, not ${MACOS_FLOOR}`]
  if (target.libc !== 'glibc') return []
  return imports
    .filter(({ version }) => version?.startsWith('GLIBC_') && isAbove(version.slice('GLIBC_'.length), GLIBC_FLOOR))
    .map(({ name, version }) => `needs ${name}@${version}: newer than glibc ${GLIBC_FLOOR}, the oldest supported`)
}

/** macOS runs no arm64 code without a valid signature, and no code with an invalid one. */
function signatureProblems({ system }, { signature }) {
  return system === 'mac' && signature !== undefined ? [signature] : []
}

/** A path of the build machine in the binary would make its bytes differ between machines. */
function pathProblems(file) {
  const text = file.toString('latin1')
  const folders = [process.cwd(), process.env.HOME, 'node_modules/', 'site-packages', 'src-native/', '.cache/']
  return folders
    .filter((folder) => folder !== undefined && folder.length > 1 && text.includes(folder))
    .map((folder) => `holds the path ${folder}`)
}

/**
 * A Windows binary looks up the functions of Node-API by name, so its imports do not show functions that are too new.
 */
function windowsProblems(file, { hasDelayedImports }) {
  const problems = hasDelayedImports ? ['has delayed imports: bound to one host name'] : []
  const names = Object.values(require('node-api-headers').symbols).flatMap((version) => [
    ...version.js_native_api_symbols,
    ...version.node_api_symbols,
  ])
  const allowed = new Set(nodeApiSymbols())
  const text = file.toString('latin1')
  for (const name of new Set(names)) {
    if (!allowed.has(name) && text.includes(`\0${name}\0`)) problems.push(`looks up ${name}: newer than allowed`)
  }
  return problems
}

/**
 * The problems of the addon of `target`, one phrase each.
 *
 * @param {import('./targets.mjs').Target} target
 */
export function checkBinary(target, addon) {
  const path = join('prebuilds', target.name, `${addon}.node`)
  if (!existsSync(path)) return ['is missing: run "npm run build:prebuilds"']
  const file = readFileSync(path)
  const read = READERS[target.format](file)
  const system = SYSTEM_LIBRARIES[target.libc ?? target.system]
  return [
    ...(isOfTheseSources(target) ? [] : ['was built from other sources: run "npm run build:prebuilds"']),
    ...(read.arch === target.arch ? [] : [`is for ${read.arch}`]),
    ...(file.length > SIZE_BUDGET_BYTES ? [`has ${file.length} bytes, more than ${SIZE_BUDGET_BYTES}`] : []),
    ...read.libraries.filter((name) => !system.test(name)).map((name) => `needs ${name}: not the system's`),
    ...read.rpaths.map((path) => `has the rpath ${path}`),
    ...symbolProblems(read),
    ...floorProblems(target, read),
    ...signatureProblems(target, read),
    ...pathProblems(file),
    ...(target.system === 'win' ? windowsProblems(file, read) : []),
  ]
}
