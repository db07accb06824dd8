// Bundles a program that imports durlog/<target>, as docs/INSTALL.md describes, and runs the bundle in a folder without
// node_modules while the project's node_modules are hidden.
import { mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tool, toolVersion } from './tools.mjs'

const BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

const APPEND = `open(process.argv[2]).then(async (log) => {
  console.log('seq', await log.append('bundled'))
  await log.close()
})
`

const WEBPACK = `const path = require('node:path')
const common = {
  target: 'node',
  mode: 'production',
  resolveLoader: { modules: [process.env.LOADERS] },
  module: { rules: [{ test: /\\.node$/, loader: 'node-loader' }] },
}
const output = (folder) => ({ path: path.join(process.env.OUTPUT, folder), publicPath: '' })
module.exports = [
  { ...common, entry: './bundled.cjs', output: { ...output('webpack-cjs'), filename: 'main.cjs' } },
  {
    ...common,
    entry: './bundled.mjs',
    experiments: { outputModule: true },
    output: { ...output('webpack-esm'), filename: 'main.mjs', module: true },
  },
]
`

const ROLLUP = `import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
const require = createRequire(process.env.LOADERS + '/')
const commonjs = require('@rollup/plugin-commonjs')
const { nodeResolve } = require('@rollup/plugin-node-resolve')
const binary = {
  name: 'binary',
  load(id) {
    if (!id.endsWith('.node')) return null
    const file = this.emitFile({ type: 'asset', name: 'durlog.node', source: readFileSync(id) })
    return \`import { createRequire } from 'node:module'
      import { fileURLToPath } from 'node:url'
      export default createRequire(import.meta.url)(fileURLToPath(import.meta.ROLLUP_FILE_URL_\${file}))\`
  },
}
const plugins = [nodeResolve(), binary, commonjs({ requireReturnsDefault: 'auto' })]
const output = (folder, format, extension) => ({
  dir: process.env.OUTPUT + '/' + folder,
  format,
  entryFileNames: 'main.' + extension,
})
export default [
  { input: 'bundled.cjs', plugins, output: output('rollup-cjs', 'cjs', 'cjs') },
  { input: 'bundled.mjs', plugins, output: output('rollup-esm', 'es', 'mjs') },
]
`

const FILES = {
  'bundled.cjs': `const { open } = require('durlog/linux-x64')\n${APPEND}`,
  'bundled.mjs': `import { open } from 'durlog/linux-x64'\n${APPEND}`,
  'webpack.config.cjs': WEBPACK,
  'rollup.config.mjs': ROLLUP,
}

const node = () => tool('node24/bin/node')

/** Each bundler: the commands that make its bundles, and for each module format the file in `output` to run. */
function bundles(output) {
  const esbuild = [tool('esbuild/bin/esbuild'), '--bundle', '--platform=node', '--loader:.node=copy']
  const quiet = '--log-level=error'
  const ncc = [node(), tool('ncc/dist/ncc/cli.js'), 'build']
  const webpack = [node(), tool('webpack/node_modules/webpack/bin/webpack.js'), '--config', 'webpack.config.cjs']
  const rollup = [node(), tool('rollup/node_modules/rollup/dist/bin/rollup'), '--config', '--silent']
  const modulesOf = (suite) => ({ OUTPUT: output, LOADERS: tool(`${suite}/node_modules`) })
  const esm = `--outfile=${join(output, 'esbuild-esm/main.mjs')}`
  return [
    {
      name: `esbuild ${toolVersion('esbuild')}`,
      formats: {
        CommonJS: 'esbuild-cjs/main.cjs',
        'ES modules': 'esbuild-esm/main.mjs',
      },
      commands: [
        [...esbuild, quiet, 'bundled.cjs', '--format=cjs', `--outfile=${join(output, 'esbuild-cjs/main.cjs')}`],
        [...esbuild, quiet, 'bundled.mjs', '--format=esm', `--banner:js=${BANNER}`, esm],
      ],
    },
    {
      name: `webpack ${toolVersion('webpack')}`,
      formats: { CommonJS: 'webpack-cjs/main.cjs', 'ES modules': 'webpack-esm/main.mjs' },
      commands: [webpack],
      env: modulesOf('webpack'),
    },
    {
      name: `Rollup ${toolVersion('rollup')}`,
      formats: { CommonJS: 'rollup-cjs/main.cjs', 'ES modules': 'rollup-esm/main.mjs' },
      commands: [rollup],
      env: modulesOf('rollup'),
    },
    {
      name: `ncc ${toolVersion('ncc')}`,
      formats: { CommonJS: 'ncc-cjs/index.cjs', 'ES modules': 'ncc-esm/index.mjs' },
      commands: [
        [...ncc, 'bundled.cjs', '-o', join(output, 'ncc-cjs')],
        [...ncc, 'bundled.mjs', '-o', join(output, 'ncc-esm')],
      ],
    },
  ]
}

/** Runs `action` while the project's node_modules are hidden. */
function withoutModules(project, action) {
  const modules = join(project, 'node_modules')
  renameSync(modules, `${modules}.hidden`)
  try {
    return action()
  } finally {
    renameSync(`${modules}.hidden`, modules)
  }
}

/** Returns the rows of the table and the problems found. */
export function tryBundlers(project, work, run) {
  for (const [file, text] of Object.entries(FILES)) writeFileSync(join(project, file), text)
  const made = mkdtempSync(join(work, 'bundles-'))
  const all = bundles(made)
  const problems = []
  for (const { name, commands, env = {} } of all) {
    for (const command of commands) {
      const built = run(command, project, env)
      if (!built.passed) problems.push(`${name}: the bundle is not built: ${built.text}\n`)
    }
  }
  const moved = join(work, 'moved')
  renameSync(made, moved)
  const rows = withoutModules(project, () =>
    all.flatMap(({ name, formats }) =>
      Object.entries(formats).map(([format, file]) => {
        const data = mkdtempSync(join(work, 'bundled-'))
        const ran = run([node(), join(moved, file), join(data, 'log')], moved, {})
        if (ran.text !== 'seq 0') problems.push(`${name}, ${format}: the bundle fails: ${ran.text}\n`)
        return [`${name}, ${format}`, ran.text === 'seq 0' ? 'yes' : 'no']
      }),
    ),
  )
  return { rows, problems }
}
