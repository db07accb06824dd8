// Builds the addon with node-gyp. Uses the headers of the installed Node if they exist: node-gyp would download them.
import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { env, execPath, exit, platform } from 'node:process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const installed = resolve(dirname(realpathSync(execPath)), '..')
// On Windows the build also needs node.lib, which no installation has.
const hasHeaders = platform !== 'win32' && existsSync(join(installed, 'include/node/common.gypi'))
const given = env.npm_config_nodedir
const nodedir = given === undefined && hasHeaders ? [`--nodedir=${installed}`] : []
const args = ['configure', 'build', '--jobs', 'max', '--loglevel=warn', ...nodedir]
const gyp = join(root, 'node_modules/node-gyp/bin/node-gyp.js')
exit(spawnSync(execPath, [gyp, ...args], { cwd: root, stdio: 'inherit' }).status ?? 1)
