// Builds for an install from git, where npm runs "prepare" in a clone and packs what it leaves. In a checkout that has
// been built, it does nothing.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

if (!existsSync('dist/index.js')) {
  execFileSync('npm', ['run', 'build'], { stdio: 'inherit', shell: process.platform === 'win32' })
  // Packed under the name that an installed package looks for. `npm pack` refuses it for a release.
  const { targetName } = require('../dist/native/binary.js')
  const folder = `prebuilds/${targetName()}`
  if (!existsSync('prebuilds')) {
    mkdirSync(folder, { recursive: true })
    copyFileSync('build/Release/durlog.node', `${folder}/durlog.node`)
  }
}
