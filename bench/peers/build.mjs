// Builds the program that commits to OkayWAL, if cargo is installed.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))
const args = [
  'install',
  '--quiet',
  '--locked',
  '--root',
  at('cargo'),
  '--target-dir',
  at('cargo/target'),
  '--path',
  at('okaywal'),
]
const { error, status } = spawnSync('cargo', args, { stdio: 'inherit' })
if (error?.code === 'ENOENT') console.log('cargo is not installed: bench commit has no row of OkayWAL')
else if (error) throw error
else process.exitCode = status
