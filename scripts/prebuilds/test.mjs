// Checks every binary below prebuilds/, and runs the smoke test on each binary that this machine can run.
//
//   npm run test:prebuilds [-- linux-x64 ...] [--static]
//
// With --static, it only checks the files. `npm pack` does this.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { argv, chdir, exit } from 'node:process'
import { fileURLToPath } from 'node:url'
import { checkBinary } from './check.mjs'
import { hostOf, runOn } from './hosts.mjs'
import { addonsOf, chooseTargets } from './targets.mjs'

chdir(fileURLToPath(new URL('../..', import.meta.url)))

/** Runs the smoke test on the binary. Returns "ok …", "skipped: …", or the error. */
function runSmoke(target) {
  const host = hostOf(target)
  if (host.skip !== undefined) return { passed: true, text: `skipped: ${host.skip}` }
  const path = host.path ?? ((same) => same)
  const folder = mkdtempSync(join(tmpdir(), 'durlog-prebuilt-'))
  try {
    const args = ['scripts/prebuilds/smoke.cjs', 'dist/index.js'].map((file) => path(resolve(file)))
    const binary = path(resolve('prebuilds', target.name, 'durlog.node'))
    return runOn(host, [...args, path(folder)], { DURLOG_BINARY: binary })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function main(args) {
  const isStatic = args.includes('--static')
  let failed = false
  for (const target of chooseTargets(args.filter((name) => name !== '--static'))) {
    const problems = addonsOf(target).flatMap((addon) =>
      checkBinary(target, addon).map((problem) => `  ${addon}.node ${problem}\n`),
    )
    if (problems.length > 0) {
      failed = true
      process.stdout.write(`${target.name}: refused\n${problems.join('')}`)
    } else if (isStatic) {
      process.stdout.write(`${target.name}: checked\n`)
    } else {
      const { passed, text } = runSmoke(target)
      failed ||= !passed
      process.stdout.write(`${target.name}: checked; ${passed ? '' : 'FAILED\n'}${text.trim()}\n`)
    }
  }
  return failed ? 1 : 0
}

exit(main(argv.slice(2)))
