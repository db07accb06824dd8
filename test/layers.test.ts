import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Rooms of the C++ core, the lowest first. A file includes its own room and those below it. */
const CORE = ['base', 'platform', 'checksum', 'record', 'segment', 'live', 'log', 'napi']
/** The bench's addon measures raw system calls. It knows nothing of segments and logs. */
const BENCH = ['base', 'platform', 'checksum', 'bench']

function filesBelow(folder: string, ending: RegExp): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

/** The includes of `source`, a file in `room`, that point up. */
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

/** The imports of `source` that a file of the library must not have: the command line and the bench stand on top. */
function importsPointingUp(path: string, source: string): string[] {
  return [...source.matchAll(/\b(?:from|import\()\s*'(\.[^']+)'/g)]
    .map(([, specifier]) => relative(root, join(root, dirname(path), specifier as string)))
    .filter((target) => /^src\/(cli|bench|terminal)\//.test(target))
}

test('an include in src-native points into its own room or down', () => {
  const files = filesBelow('src-native', /\.(cc|h)$/)
  expect(files.length).toBeGreaterThan(50)
  for (const file of files) {
    const room = relative('src-native', file).split(/[\\/]/)[0] as string
    expect([file, ...includesPointingUp(room, readFileSync(join(root, file), 'utf8'))]).toEqual([file])
  }
})

test('an include that points up is found', () => {
  expect(includesPointingUp('segment', '#include "log/log.h"\n#include "base/bytes.h"\n')).toEqual([
    '#include "log/log.h"',
  ])
  expect(includesPointingUp('bench', '#include "log/log.h"\n')).toHaveLength(1)
  expect(includesPointingUp('log', '#include "unheard/of.h"\n')).toHaveLength(1)
})

test('only the binding includes Node-API', () => {
  for (const file of filesBelow('src-native', /\.(cc|h)$/)) {
    if (/^src-native.(napi|bench)./.test(file)) continue
    expect([file, /#include <(napi|node_api|uv)/.test(readFileSync(join(root, file), 'utf8'))]).toEqual([file, false])
  }
})

test('the library imports neither the command line nor the bench', () => {
  const library = filesBelow('src', /\.ts$/).filter((file) => !/^src.(cli|bench|terminal)./.test(file))
  expect(library.length).toBeGreaterThan(10)
  for (const file of library) {
    expect([file, ...importsPointingUp(file, readFileSync(join(root, file), 'utf8'))]).toEqual([file])
  }
})

test('an import that points up is found', () => {
  expect(importsPointingUp('src/log.ts', "import { x } from './cli/main.js'\n")).toEqual(['src/cli/main.js'])
  expect(importsPointingUp('src/log.ts', "await import('./bench/load.js')\n")).toEqual(['src/bench/load.js'])
  expect(importsPointingUp('src/log.ts', "import { x } from './waiters.js'\n")).toEqual([])
})
