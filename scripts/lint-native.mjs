// Checks the format of every C++ file of the repository with clang-format; with --fix, rewrites the files.
import { execFileSync, spawnSync } from 'node:child_process'
import { argv, exit } from 'node:process'

const files = execFileSync('git', ['ls-files', '*.cc', '*.h']).toString().trim().split('\n')
const mode = argv.includes('--fix') ? ['-i'] : ['--dry-run', '-Werror']
exit(
  spawnSync(process.execPath, ['node_modules/clang-format/index.js', ...mode, ...files], { stdio: 'inherit' }).status ??
    1,
)
