// Bundles the subpath that names its binary, as docs/INSTALL.md tells, and runs the bundle from a folder that has no
// node_modules.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tool } from './tools.mjs'

const BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

const APPEND = `open(process.argv[2]).then(async (log) => {
  console.log('seq', await log.append('bundled'))
  await log.close()
})
`
const SOURCES = {
  'bundled.cjs': `const { open } = require('durlog/linux-x64')\n${APPEND}`,
  'bundled.mjs': `import { open } from 'durlog/linux-x64'\n${APPEND}`,
}

function bundles(output) {
  const esbuild = [
    tool('esbuild/bin/esbuild'),
    '--bundle',
    '--platform=node',
    '--loader:.node=copy',
    '--log-level=error',
  ]
  const ncc = [tool('node22/bin/node'), tool('ncc/dist/ncc/cli.js'), 'build']
  const [cjs, esm] = [join(output, 'esbuild-cjs'), join(output, 'esbuild-esm')]
  return [
    {
      name: 'esbuild, CommonJS',
      command: [...esbuild, 'bundled.cjs', '--format=cjs', `--outfile=${cjs}/main.cjs`],
      main: `${cjs}/main.cjs`,
    },
    {
      name: 'esbuild, ES modules',
      command: [...esbuild, 'bundled.mjs', '--format=esm', `--banner:js=${BANNER}`, `--outfile=${esm}/main.mjs`],
      main: `${esm}/main.mjs`,
    },
    {
      name: 'ncc, CommonJS',
      command: [...ncc, 'bundled.cjs', '-o', join(output, 'ncc')],
      main: join(output, 'ncc/index.cjs'),
    },
  ]
}

/** What fails, one sentence each. */
export function tryBundlers(project, work, run) {
  for (const [file, text] of Object.entries(SOURCES)) writeFileSync(join(project, file), text)
  const output = mkdtempSync(join(work, 'bundles-'))
  return bundles(output).flatMap(({ name, command, main }) => {
    const built = run(command, project, {})
    if (!built.passed) return [`${name}: the bundle is not built: ${built.text}\n`]
    const data = join(output, name.replaceAll(/\W+/g, '-'))
    mkdirSync(data, { recursive: true })
    const ran = run([tool('node22/bin/node'), main, join(data, 'log')], output, {})
    console.log(`${name}: ${ran.text}`)
    return ran.text === 'seq 0' ? [] : [`${name}: the bundle fails: ${ran.text}\n`]
  })
}
