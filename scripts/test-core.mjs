// Builds and runs the core's own tests: node scripts/test-core.mjs [--sanitize address|undefined|thread] [gtest flags]
import { spawnSync } from 'node:child_process'
import { argv, exit, platform } from 'node:process'
import { buildCoreTests } from './core-tests.mjs'
import { sanitizerFlags } from './native-program.mjs'

if (platform === 'win32') {
  console.log('core tests: skipped on Windows; `npm run test:windows` on Linux runs them under Wine')
  exit(0)
}
const rest = argv.slice(2)
const sanitize = rest[0] === '--sanitize' ? rest.splice(0, 2)[1] : ''
const flags = sanitizerFlags(sanitize)
const program = await buildCoreTests(`build/core-tests${sanitize && `-${sanitize}`}`, { flags, link: flags }).catch(
  (error) => {
    console.error(error.stderr ?? error)
    exit(1)
  },
)
exit(spawnSync(program, rest, { stdio: 'inherit' }).status ?? 1)
