// Builds the package for an install from git: npm runs "prepare" in a clone and then packs the clone. In a checkout
// that has been built, this script does nothing. An install by path (`npm i ../durlog`) runs it even if the
// dependencies of the clone are not installed.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cwd, exit, platform } from 'node:process'

const require = createRequire(import.meta.url)

function isInstalled(name) {
  return require.resolve.paths(name).some((folder) => existsSync(`${folder}/${name}/package.json`))
}

function build() {
  if (!['node-addon-api', 'node-gyp', 'typescript'].every(isInstalled)) {
    console.error(`durlog: the clone in ${cwd()} is not built, and its build tools are not installed.`)
    console.error('Run "npm ci && npm run build" in that folder, then repeat the install.')
    exit(1)
  }
  execFileSync('npm', ['run', 'build'], { stdio: 'inherit', shell: platform === 'win32' })
  // Packed under the path at which an installed package finds it. A release must not contain it: `npm pack` fails then.
  const { targetName } = require('../dist/native/binary.js')
  const folder = `prebuilds/${targetName()}`
  if (!existsSync('prebuilds')) {
    mkdirSync(folder, { recursive: true })
    copyFileSync('build/Release/durlog.node', `${folder}/durlog.node`)
  }
}

if (!existsSync('dist/index.js')) build()
