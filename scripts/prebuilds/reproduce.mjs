// Builds the binaries a second time, from a fresh clone in another folder and without a cache, and compares them byte
// for byte with those below prebuilds/.
//
//   npm run test:reproducible [-- linux-x64 win32-x64 ...]
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, chdir, exit } from 'node:process'
import { fileURLToPath } from 'node:url'
import { addonsOf, chooseTargets } from './targets.mjs'

chdir(fileURLToPath(new URL('../..', import.meta.url)))

function digestOf(path) {
  return existsSync(path) ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'missing'
}

/** Builds the committed sources in a clone, and returns the clone's folder. */
function buildInClone(folder, names) {
  const clone = join(folder, 'another path')
  const inClone = { cwd: clone, stdio: 'inherit' }
  execFileSync('git', ['clone', '--quiet', '.', clone], { stdio: 'inherit' })
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], inClone)
  execFileSync(process.execPath, ['scripts/prebuilds/build.mjs', ...names], inClone)
  return clone
}

function main(names) {
  const targets = chooseTargets(names)
  const folder = mkdtempSync(join(tmpdir(), 'durlog-reproduced-'))
  let same = true
  try {
    const clone = buildInClone(folder, names)
    for (const target of targets) {
      for (const addon of addonsOf(target)) {
        const file = join('prebuilds', target.name, `${addon}.node`)
        const [here, there] = [digestOf(file), digestOf(join(clone, file))]
        if (here !== there) same = false
        console.log(`${file}: ${here === there ? `the same, sha256 ${here}` : `DIFFERS: ${here} here, ${there} there`}`)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return same ? 0 : 1
}

exit(main(argv.slice(2)))
