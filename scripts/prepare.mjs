// Builds for an install from git, where npm runs "prepare" in a clone and packs what it leaves. In a checkout that has
// been built, it does nothing. An install by path (`npm i ../durlog`) runs it without the clone's own dependencies.
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
  // Packed under the name that an installed package looks for. `npm pack` refuses it for a release.
  const { targetName } = require('../dist/native/binary.js')
  const folder = `prebuilds/${targetName()}`
  if (!existsSync('prebuilds')) {
    mkdirSync(folder, { recursive: true })
    copyFileSync('build/Release/durlog.node', `${folder}/durlog.node`)
  }
}

if (!existsSync('dist/index.js')) build()
