// Adds the parts of dist/ that tsc does not write: the package.json files that state the module type of a folder, the
// files of the subpath exports, the executable bit of the command, and the chart library of the bench's HTML report.
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { TARGETS } from './prebuilds/targets.mjs'

function writeType(folder, type) {
  writeFileSync(`${folder}/package.json`, `${JSON.stringify({ type })}\n`)
}

/** `durlog/<target>`: the library with the path of its binary as a literal, so that a bundler finds the binary. */
function writeSubpath({ name }) {
  const lines = [
    `'use strict'`,
    `require('../native/binary.js').provideAddon('${name}', () => require('../../prebuilds/${name}/durlog.node'))`,
    `module.exports = require('../index.js')`,
  ]
  writeFileSync(`dist/targets/${name}.js`, `${lines.join('\n')}\n`)
  writeFileSync(`dist/targets/${name}.d.ts`, `export * from '../index.js'\n`)
}

/**
 * `durlog/pino`: the transport, with the other exports as its properties. pino uses the default export of a target;
 * every loader and bundler takes `module.exports` as the default export.
 */
function writePino() {
  const code = [
    `'use strict'`,
    `const { destination, transport } = require('./pino/index.js')`,
    'module.exports = transport',
    'module.exports.transport = transport',
    'module.exports.destination = destination',
  ]
  const types = [
    `import library = require('./pino/index.js')`,
    'declare function transport(',
    '  ...options: Parameters<typeof library.transport>',
    '): ReturnType<typeof library.transport>',
    'declare namespace transport {',
    '  export import transport = library.transport',
    '  export import destination = library.destination',
    '  export type LogDestination = library.LogDestination',
    '  export type LogDestinationEvents = library.LogDestinationEvents',
    '  export type PinoLogOptions = library.PinoLogOptions',
    '}',
    'export = transport',
  ]
  writeFileSync('dist/pino.js', `${code.join('\n')}\n`)
  writeFileSync('dist/pino.d.ts', `${types.join('\n')}\n`)
}

/** The bench embeds uPlot in its HTML report, so uPlot's licence is published too. */
function copyChartLibrary() {
  const folder = 'bench/dist/report'
  mkdirSync(folder, { recursive: true })
  for (const name of ['uPlot.iife.min.js', 'uPlot.min.css'])
    copyFileSync(`node_modules/uplot/dist/${name}`, `${folder}/${name}`)
  copyFileSync('node_modules/uplot/LICENSE', `${folder}/uPlot.LICENSE`)
}

writeType('dist', 'commonjs')
writeType('dist/cli', 'module')
writeType('dist/terminal', 'module')
mkdirSync('dist/targets', { recursive: true })
for (const target of TARGETS) writeSubpath(target)
writePino()
copyChartLibrary()
chmodSync('dist/cli/main.js', 0o755)
