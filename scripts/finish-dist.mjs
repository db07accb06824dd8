// Writes what tsc does not: which folders of dist/ hold CommonJS, the subpaths that name a binary, and the
// executable bit of the command for a run from a checkout.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { TARGETS } from './prebuilds/targets.mjs'

function writeType(folder, type) {
  writeFileSync(`${folder}/package.json`, `${JSON.stringify({ type })}\n`)
}

/** `durlog/<target>`: the library with its binary named literally, so that a bundler finds it. */
function writeSubpath({ name }) {
  const lines = [
    `'use strict'`,
    `require('../native/binary.js').provideAddon(require('../../prebuilds/${name}/durlog.node'))`,
    `module.exports = require('../index.js')`,
  ]
  writeFileSync(`dist/targets/${name}.js`, `${lines.join('\n')}\n`)
  writeFileSync(`dist/targets/${name}.d.ts`, `export * from '../index.js'\n`)
}

writeType('dist', 'commonjs')
writeType('dist/cli', 'module')
writeType('dist/terminal', 'module')
mkdirSync('dist/targets', { recursive: true })
for (const target of TARGETS) writeSubpath(target)
chmodSync('dist/cli/main.js', 0o755)
