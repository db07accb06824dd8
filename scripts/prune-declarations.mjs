// Removes the declaration files that the package's exports do not refer to, directly or indirectly: they describe
// internals, and are a sixth of the package without its binaries. Runs after the bench's build, which needs some of
// them.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

const DECLARATION = /\.d\.[cm]?ts$/
const IMPORT = /(?:from|import|require\()\s*\(?['"](\.[^'"]+)['"]/g

/** The files that `exports` names, including the ones in nested conditions. */
function* named(exports) {
  if (typeof exports === 'string') yield join(exports)
  else for (const entry of Object.values(exports)) yield* named(entry)
}

function reachable(entries) {
  const found = new Set()
  const waiting = [...entries]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue
    found.add(file)
    for (const [, to] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      waiting.push(join(dirname(file), to.replace(/\.([cm]?)js$/, '.d.$1ts')))
    }
  }
  return found
}

const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
const kept = reachable([...named(exports)].filter((file) => DECLARATION.test(file)))
for (const file of readdirSync('dist', { recursive: true })) {
  if (DECLARATION.test(file) && !kept.has(join('dist', file))) rmSync(join('dist', file))
}
