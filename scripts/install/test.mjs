// Installs the packed package with every package manager, its scripts blocked and no compiler on PATH, and lets it
// live a short life on each Node, on Bun and on Deno. Writes the table of docs/INSTALL.md.
//
//   npm run test:install [-- --tarball durlog-0.1.0.tgz]
import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { argv, chdir, exit } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { tryBundlers } from './bundlers.mjs'
import { MANAGERS } from './managers.mjs'
import { fetchTools, NODE_MAJORS, tool } from './tools.mjs'

const MAX_TARBALL_BYTES = 2_500_000
const MAX_PACKAGES = 6
const TIMEOUT_MS = 300_000
const TABLE_BEGIN = '<!-- The table is made by npm run test:install. -->'
const TABLE_END = '<!-- End of the table. -->'

chdir(fileURLToPath(new URL('../..', import.meta.url)))
const work = mkdtempSync(join(tmpdir(), 'durlog-install-'))

/** A folder for PATH with what package managers start, and no compiler, make or Python. */
function makePath() {
  const bin = join(work, 'bin')
  mkdirSync(bin)
  for (const program of ['/bin/sh', '/usr/bin/env', '/bin/tar', '/bin/gzip']) {
    if (existsSync(program)) symlinkSync(program, join(bin, program.split('/').at(-1)))
  }
  symlinkSync(tool('node24/bin/node'), join(bin, 'node'))
  return bin
}

function run([program, ...args], cwd, env) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
  })
  return { passed: status === 0, text: `${error?.message ?? ''}${stdout}${stderr}`.trim(), stdout: stdout?.trim() }
}

/** How many packages an install of the tarball puts there, durlog included. */
function countPackages(project) {
  const installed = join(project, 'node_modules')
  return readdirSync(installed).filter((name) => !name.startsWith('.')).length
}

function makeProject(name, tarball, files = {}) {
  const project = join(work, name.replaceAll(/\W+/g, '-'))
  mkdirSync(project)
  const manifest = { name: 'project', version: '1.0.0', private: true, dependencies: { durlog: `file:${tarball}` } }
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  copyFileSync('scripts/prebuilds/smoke.cjs', join(project, 'smoke.cjs'))
  writeFileSync(join(project, 'import.mjs'), `import { open } from 'durlog'\nconsole.log(typeof open)\n`)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(project, file), text)
  return project
}

/** Required and run, and imported. */
function tryIn(project, command, env) {
  const data = mkdtempSync(join(work, 'log-'))
  const smoke = run([...command, './smoke.cjs', 'durlog', data], project, env)
  if (!smoke.passed || !smoke.text.includes('ok linux')) return { passed: false, text: smoke.text }
  const imported = run([...command, './import.mjs'], project, env)
  return { passed: imported.passed && imported.text.endsWith('function'), text: imported.text }
}

/** One row: the install and a cell for each runtime; "yes", "no" or "-" where it does not apply. */
function tryManager(manager, tarball, path) {
  const env = { ...manager.env, PATH: path }
  const project = makeProject(manager.name, tarball, manager.files)
  const installed = run(manager.install(), project, env)
  const told = installed.passed ? '' : `${manager.name}: ${installed.text}\n`
  const cells = [installed.passed ? 'yes' : 'no']
  const problems = told === '' ? [] : [told]
  const tryOne = (command) => {
    if (!installed.passed) return 'no'
    const { passed, text } = tryIn(project, command, env)
    if (!passed) problems.push(`${manager.name}, ${command[0]}: ${text}\n`)
    return passed ? 'yes' : 'no'
  }
  for (const major of NODE_MAJORS) cells.push(tryOne([tool(`node${major}/bin/node`), ...(manager.nodeOptions ?? [])]))
  cells.push(manager.runtime === undefined ? '-' : tryOne(manager.runtime()))
  return { project, cells: [manager.name, ...cells], problems }
}

function writeTable(rows) {
  const head = ['installed with', 'installs', ...NODE_MAJORS.map((major) => `Node ${major}`), 'its own runtime']
  const line = (cells) => `| ${cells.join(' | ')} |`
  const table = [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
  const text = readFileSync('docs/INSTALL.md', 'utf8')
  const [before, after] = [text.split(TABLE_BEGIN)[0], text.split(TABLE_END)[1]]
  writeFileSync('docs/INSTALL.md', `${before}${TABLE_BEGIN}\n\n${table}\n\n${TABLE_END}${after}`)
}

function pack() {
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', work], { encoding: 'utf8' })
  return join(work, packed.trim().split('\n').at(-1))
}

function main(args) {
  const { values } = parseArgs({ args, options: { tarball: { type: 'string' } } })
  fetchTools()
  const tarball = values.tarball === undefined ? pack() : resolve(values.tarball)
  const path = makePath()
  const problems = []
  const { size } = statSync(tarball)
  console.log(`tarball: ${size.toLocaleString('en-US')} bytes`)
  if (size > MAX_TARBALL_BYTES) problems.push(`the tarball has ${size} bytes, more than ${MAX_TARBALL_BYTES}\n`)
  const rows = []
  for (const manager of MANAGERS) {
    const { project, cells, problems: found } = tryManager(manager, tarball, path)
    if (rows.length === 0) {
      const packages = countPackages(project)
      console.log(`packages installed: ${packages}`)
      if (packages > MAX_PACKAGES) problems.push(`${packages} packages are installed, more than ${MAX_PACKAGES}\n`)
      problems.push(...tryBundlers(project, work, run))
    }
    problems.push(...found)
    rows.push(cells)
    console.log(cells.join(' | '))
  }
  writeTable(rows)
  process.stderr.write(problems.join(''))
  return problems.length === 0 ? 0 : 1
}

try {
  exit(main(argv.slice(2)))
} finally {
  rmSync(work, { recursive: true, force: true })
}
