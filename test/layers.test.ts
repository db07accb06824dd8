import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
/** A path with slashes on every system. */
const slashed = (path: string): string => path.split(sep).join('/')

/** Rooms of the C++ core, the lowest first. A file includes only its own room and lower ones. */
const CORE = [
  'base',
  'platform',
  'checksum',
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
  'napi',
]
/** The bench's addon measures raw system calls. It uses no segments and no logs. */
const BENCH = ['base', 'platform', 'checksum', 'bench']

function filesBelow(folder: string, ending: RegExp): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => slashed(relative(root, join(entry.parentPath, entry.name))))
}

/** The includes of `source`, a file in `room`, that name a higher room. */
function includesPointingUp(room: string, source: string): string[] {
  const order = room === 'bench' ? BENCH : CORE
  const own = order.indexOf(room)
  return [...source.matchAll(/^#include "([^"/]+)\/[^"]+"/gm)]
    .filter(([, included]) => {
      const at = order.indexOf(included as string)
      return at === -1 || at > own
    })
    .map(([line]) => line)
}

/** Rooms of the library, the lowest first: `base` is its errors and types, `face` the exports of index.ts. */
const LIBRARY = ['base', 'native', 'support', 'options', 'reader', 'cursor', 'log', 'face']
/** Rooms of TypeScript, and the rooms that each may import. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  ...Object.fromEntries(LIBRARY.map((room, at) => [room, LIBRARY.slice(0, at)])),
  pino: ['base', 'support', 'face'],
  ship: ['base', 'support', 'options', 'face', 'streams'],
  jetstream: ['base', 'support', 'options', 'face', 'ship', 'streams'],
  archive: ['base', 'support', 'options', 'reader', 'face', 'ship', 'streams'],
  streams: ['base', 'native', 'support', 'options', 'reader', 'face'],
  http: ['base', 'support', 'options', 'face', 'streams'],
  terminal: [],
  cli: [...LIBRARY, 'ship', 'jetstream', 'archive', 'streams', 'http', 'terminal'],
  bench: ['face', 'terminal'],
}
/** Rooms of streams, the lowest first; the exports of index.ts are above them. */
const STREAMS = ['port', 'state', 'files', 'checkpoint', 'core', 'processes', 'api', 'index.ts']
/** The only import of the bench by the command line: a path that is loaded when `durlog bench` runs. */
const BENCH_PATH = "new URL('../../bench/dist/command.js', import.meta.url)"

function roomOf(path: string): string {
  const [folder, room, file] = path.split(/[\\/]/) as [string, string, string | undefined]
  if (folder === 'bench') return 'bench'
  if (file !== undefined) return room
  return /^(caller-stack|errors|timers|types)\./.test(room) ? 'base' : 'face'
}

/** The file that `specifier` in the file `path` names, from the package's root; undefined for another package. */
function targetOf(path: string, specifier: string): string | undefined {
  if (specifier === 'durlog') return 'src/index.js'
  if (specifier.startsWith('#terminal/')) return specifier.replace('#', 'src/')
  return specifier.startsWith('.') ? slashed(relative(root, join(root, dirname(path), specifier))) : undefined
}

/** The imports of `source` that the room of the file `path` does not allow. */
function forbiddenImports(path: string, source: string): string[] {
  const room = roomOf(path)
  return [...source.matchAll(/\b(?:from|import\(|import|new URL\()\s*'([^']+)'/g)]
    .filter(([found]) => !(path === 'src/cli/command-list.ts' && BENCH_PATH.startsWith(found)))
    .map(([, specifier]) => targetOf(path, specifier as string))
    .filter((target) => target !== undefined && /^(src|bench)[\\/]/.test(target))
    .map((target) => target as string)
    .filter((target) => {
      const other = roomOf(target)
      if (other === room) return false
      if (room === 'bench' && other === 'face') return target !== 'src/index.js'
      return !(MAY_IMPORT[room] as readonly string[]).includes(other)
    })
}

/** The imports of `source` that name a higher room of streams than that of the file `path`. */
function streamsImportsPointingUp(path: string, source: string): string[] {
  const levelOf = (file: string): number => STREAMS.indexOf(file.split('/')[2] as string)
  return [...source.matchAll(/\b(?:from|import\()\s*'(\.[^']+)'/g)]
    .map(([, specifier]) => targetOf(path, specifier as string) as string)
    .filter((target) => target.startsWith('src/streams/') && levelOf(target) > levelOf(path))
}

test('an include in src-native names its own room or a lower one', () => {
  const files = filesBelow('src-native', /\.(cc|h)$/)
  expect(files.length).toBeGreaterThan(50)
  for (const file of files) {
    const room = relative('src-native', file).split(/[\\/]/)[0] as string
    expect([file, ...includesPointingUp(room, readFileSync(join(root, file), 'utf8'))]).toEqual([file])
  }
})

test('an include of a higher room is found', () => {
  expect(includesPointingUp('segment', '#include "log/log.h"\n#include "base/bytes.h"\n')).toEqual([
    '#include "log/log.h"',
  ])
  expect(includesPointingUp('segment', '#include "recovery/plan.h"\n#include "segment/cut.h"\n')).toHaveLength(1)
  expect(includesPointingUp('read', '#include "inspect/verify.h"\n#include "recovery/plan.h"\n')).toHaveLength(1)
  expect(includesPointingUp('bench', '#include "log/log.h"\n')).toHaveLength(1)
  expect(includesPointingUp('log', '#include "unheard/of.h"\n')).toHaveLength(1)
})

test('only the binding includes Node-API', () => {
  for (const file of filesBelow('src-native', /\.(cc|h)$/)) {
    if (/^src-native.(napi|bench)./.test(file)) continue
    expect([file, /#include <(napi|node_api|uv)/.test(readFileSync(join(root, file), 'utf8'))]).toEqual([file, false])
  }
})

test('an import in TypeScript names its own room or a lower one', () => {
  const files = [...filesBelow('src', /\.ts$/), ...filesBelow('bench', /\.(ts|mjs)$/)].filter(
    (file) => !/[\\/](dist|node_modules)[\\/]/.test(file),
  )
  expect(new Set(files.map(roomOf))).toEqual(new Set(Object.keys(MAY_IMPORT)))
  for (const file of files) {
    expect([file, ...forbiddenImports(file, readFileSync(join(root, file), 'utf8'))]).toEqual([file])
  }
})

test('an import in src/streams names its own room of streams or a lower one', () => {
  const files = filesBelow('src/streams', /\.ts$/)
  expect(new Set(files.map((file) => file.split('/')[2]))).toEqual(new Set(STREAMS))
  for (const file of files)
    expect([file, ...streamsImportsPointingUp(file, readFileSync(join(root, file), 'utf8'))]).toEqual([file])
})

test('an import of a higher room of streams is found', () => {
  const source = "import type { Store } from '../core/store.js'\nimport { open } from '../../open.js'\n"
  expect(streamsImportsPointingUp('src/streams/files/stream-file.ts', source)).toEqual(['src/streams/core/store.js'])
  expect(streamsImportsPointingUp('src/streams/api/folder.ts', source)).toEqual([])
})

/** The files that are part of a circle of imports, and those that import them. */
function circles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const free = new Set<string>()
  // Removes files all of whose imports are free of circles, until none is left to remove.
  for (let before = -1; before < free.size; ) {
    before = free.size
    for (const [file, targets] of imports) if (targets.every((target) => free.has(target))) free.add(file)
  }
  return [...imports.keys()].filter((file) => !free.has(file))
}

test('no file of src imports itself through others, types included', () => {
  const files = filesBelow('src', /\.ts$/)
  const importsOf = (file: string): string[] =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\b(?:from|import\()\s*'(\.[^']+)'/g)]
      .map(([, specifier]) => (targetOf(file, specifier as string) as string).replace(/\.js$/, '.ts'))
      .filter((target) => files.includes(target))
  expect(circles(new Map(files.map((file) => [file, importsOf(file)])))).toEqual([])
})

test('a circle of imports is found', () => {
  const circle: [string, string[]][] = [
    ['a', ['b']],
    ['b', ['a', 'c']],
  ]
  expect(circles(new Map([...circle, ['c', []]]))).toEqual(['a', 'b'])
})

/** The files of src that are loaded with `file`: not the types, and not what it loads when it is first used. */
function loadedWith(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  const source = readFileSync(join(root, file), 'utf8')
  for (const [, names, specifier] of source.matchAll(
    /^(?:import|export) (?!type )(?:([^;'"]*?) from )?'(\.[^']+)'/gm,
  )) {
    const areTypes = names !== undefined && /^\{(\s*type [^,}]+,?)+\s*\}$/.test(names)
    if (!areTypes) loadedWith((targetOf(file, specifier as string) as string).replace(/\.js$/, '.ts'), found)
  }
  return found
}

const WRITES_A_FOLDER = /^src\/(log|reader\/log-reads|cursor|streams\/(core|checkpoint|files\/file-repair))/
test.each([
  ['durlog', 'src/index.ts', /^src\/(log\/(?!maintenance\/trim-request)|reader|cursor)/],
  ['a log that is open for reading', 'src/log/reader-log.ts', /^src\/log\/(append|maintenance|writer-log)/],
  ['durlog/streams', 'src/streams/index.ts', /^src\/(log|open|cursor|streams\/(core|checkpoint|files|state))/],
  ['a client of a folder of streams', 'src/streams/processes/link-port.ts', WRITES_A_FOLDER],
  [
    "the owner's thread",
    'src/streams/processes/owner-worker.ts',
    /^src\/(cli|http|streams\/api|.*\/link-port|.*worker-th)/,
  ],
  ["the archiver's thread", 'src/archive/piece-worker.ts', /^src\/(open|log|reader|cursor|ship|streams\/(?!port))/],
])('%s loads only the modules that it always needs', (_, file, forbidden) => {
  const files = [...loadedWith(file)]
  expect(files.length).toBeGreaterThan(1)
  expect(files.filter((each) => forbidden.test(each))).toEqual([])
})

/** `Flags`: those of a command. The others are of two subpaths, for the same action. */
const SHARED_NAMES = ['Flags', 'RejoinOptions', 'StandByOptions', 'TakeOverOptions', 'TakeOverReport']

test('a class, interface or type of src has a name that no other file gives to another one', () => {
  const places = new Map<string, Set<string>>()
  for (const file of filesBelow('src', /\.ts$/)) {
    const source = readFileSync(join(root, file), 'utf8')
    for (const [, name] of source.matchAll(/^(?:export )?(?:abstract )?(?:class|interface|type) (\w+)/gm))
      places.set(name as string, (places.get(name as string) ?? new Set()).add(file))
  }
  expect(places.size).toBeGreaterThan(500)
  const taken = [...places].filter(([name, files]) => files.size > 1 && !SHARED_NAMES.includes(name))
  expect(taken.map(([name, files]) => [name, ...files])).toEqual([])
})

test.each([
  ['src/log/writer-log.ts', "import { x } from '../cli/main.js'", 'src/cli/main.js'],
  ['src/log/writer-log.ts', "await import('../../bench/dist/command.js')", 'bench/dist/command.js'],
  ['src/open.ts', "import './terminal/table.js'", 'src/terminal/table.js'],
  ['src/terminal/table.ts', "import type { Log } from '../index.js'", 'src/index.js'],
  ['src/cli/print.ts', "import { x } from '../../bench/report/format.js'", 'bench/report/format.js'],
  ['src/cli/print.ts', BENCH_PATH, 'bench/dist/command.js'],
  ['bench/command.ts', "import { x } from '../src/cli/print.js'", 'src/cli/print.js'],
  ['bench/command.ts', "import { x } from '../src/open.js'", 'src/open.js'],
  ['src/reader/reader.ts', "import { x } from '../log/append/waiters.js'", 'src/log/append/waiters.js'],
  ['src/native/native.ts', "import type { X } from '../options/checks.js'", 'src/options/checks.js'],
  ['src/options/checks.ts', "import { x } from '../open.js'", 'src/open.js'],
])('in %s the import %s is found', (path, source, target) => {
  expect(forbiddenImports(path, source)).toEqual([target])
})

test.each([
  ['src/log/writer-log.ts', "import { x } from './waiters.js'"],
  ['src/cli/command-list.ts', BENCH_PATH],
  ['src/cli/print.ts', "import type { Log } from '../types.js'"],
  ['bench/command.ts', "import { open } from 'durlog'"],
  ['bench/command.ts', "import { writeOut } from '#terminal/output.js'"],
])('in %s the import %s is allowed', (path, source) => {
  expect(forbiddenImports(path, source)).toEqual([])
})
