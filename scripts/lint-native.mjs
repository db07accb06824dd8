// clang-format over every C++ file of the repository; --fix rewrites them.
import { execFileSync, spawnSync } from 'node:child_process'
import { argv, exit } from 'node:process'

const files = execFileSync('git', ['ls-files', '*.cc', '*.h']).toString().trim().split('\n')
const mode = argv.includes('--fix') ? ['-i'] : ['--dry-run', '-Werror']
exit(
  spawnSync(process.execPath, ['node_modules/clang-format/index.js', ...mode, ...files], { stdio: 'inherit' }).status ??
    1,
)
