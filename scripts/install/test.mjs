// Installs the packed package with every package manager, with scripts blocked and no compiler on PATH, runs the smoke
// test (scripts/prebuilds/smoke.cjs) on each version of Node, on Bun and on Deno, and tries bundlers and frameworks.
// Writes the tables of docs/INSTALL.md.
//
//   npm run test:install [-- --tarball durlog-0.1.0.tgz] [npm pnpm ...]
//
// With names, it tries only the package managers whose names begin with one of them, and writes no tables. The programs
// of the second table are tried with the first manager, npm 11.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
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
import { tryFrameworks } from './frameworks.mjs'
import { lintTarball } from './lint.mjs'
import { MANAGERS, usualRegistry } from './managers.mjs'
import { tryOthers } from './others.mjs'
import { fetchTools, NODE_MAJORS, tool } from './tools.mjs'

const MAX_TARBALL_BYTES = 3_500_000
const MAX_PACKAGES = 6
const TIMEOUT_MS = 300_000
const MAX_OUTPUT_CHARACTERS = 2000
const VERSION = JSON.parse(readFileSync('package.json', 'utf8')).version
const TABLE_BEGIN = '<!-- The tables are made by npm run test:install. -->'
const TABLE_END = '<!-- End of the tables. -->'

chdir(fileURLToPath(new URL('../..', import.meta.url)))
const work = mkdtempSync(join(tmpdir(), 'durlog-install-'))

/** Makes a folder for PATH with the programs that package managers start, but no compiler, make or Python. */
function makePath() {
  const bin = join(work, 'bin')
  mkdirSync(bin)
  for (const program of ['/bin/sh', '/usr/bin/env', '/bin/tar', '/bin/gzip']) {
    if (existsSync(program)) symlinkSync(program, join(bin, program.split('/').at(-1)))
  }
  symlinkSync(tool('node24/bin/node'), join(bin, 'node'))
  return bin
}

/** The end of `text`: if a bundle throws, Node first prints the source line, which may be the whole bundle. */
const shorten = (text) => text.slice(-MAX_OUTPUT_CHARACTERS)

function run([program, ...args], cwd, env) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
  })
  return { passed: status === 0, text: shorten(`${error?.message ?? ''}${stdout}${stderr}`.trim()) }
}

/** The number of packages that an install of the tarball adds, including durlog. */
function countPackages(project) {
  const installed = join(project, 'node_modules')
  return readdirSync(installed).filter((name) => !name.startsWith('.')).length
}

function makeProject(name, dependency, files = {}) {
  const project = join(work, name.replaceAll(/\W+/g, '-'))
  mkdirSync(project)
  const manifest = { name: 'project', version: '1.0.0', private: true, dependencies: { durlog: dependency } }
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  copyFileSync('scripts/prebuilds/smoke.cjs', join(project, 'smoke.cjs'))
  writeFileSync(join(project, 'import.mjs'), `import { open } from 'durlog'\nconsole.log(typeof open)\n`)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(project, file), text)
  return project
}

/** Runs the smoke test, which loads the package with `require`, and a program that loads it with `import`. */
function tryIn(project, command, env) {
  const data = mkdtempSync(join(work, 'log-'))
  const smoke = run([...command, './smoke.cjs', 'durlog', data], project, env)
  if (!smoke.passed || !smoke.text.includes('ok linux')) return { passed: false, text: smoke.text }
  const imported = run([...command, './import.mjs'], project, env)
  return { passed: imported.passed && imported.text.endsWith('function'), text: imported.text }
}

/** One row of the table: "yes" or "no" for the install and for each runtime, "-" for a runtime that does not exist. */
function tryManager(manager, tarball, registry, path) {
  const env = { ...manager.env, PATH: path }
  if (manager.fromRegistry) env.NPM_CONFIG_REGISTRY = registry
  const dependency = manager.fromRegistry ? VERSION : `file:${tarball}`
  const project = makeProject(manager.name, dependency, manager.files)
  const installed = run(manager.install(), project, env)
  const cells = [installed.passed ? 'yes' : 'no']
  const problems = installed.passed ? [] : [`${manager.name}: ${installed.text}\n`]
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

function tableOf(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function writeTables(managers, programs) {
  const nodes = NODE_MAJORS.map((major) => `Node ${major}`)
  const tables = [
    tableOf(['installed with', 'installs', ...nodes, 'its own runtime'], managers),
    tableOf(['installed with npm, loaded by', 'works'], programs),
  ].join('\n\n')
  const text = readFileSync('docs/INSTALL.md', 'utf8')
  const [before, after] = [text.split(TABLE_BEGIN)[0], text.split(TABLE_END)[1]]
  writeFileSync('docs/INSTALL.md', `${before}${TABLE_BEGIN}\n\n${tables}\n\n${TABLE_END}${after}`)
}

function pack() {
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', work], { encoding: 'utf8' })
  return join(work, packed.trim().split('\n').at(-1))
}

/** Starts a registry that serves the tarball, in a child process. */
async function startRegistry(tarball) {
  const args = ['scripts/install/registry.mjs', tarball, 'package.json', usualRegistry()]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [address] = await once(child.stdout, 'data')
  return { address: address.toString().trim(), stop: () => child.kill() }
}

/** The problems of the tarball itself: its size and the findings of the linters. */
function tryTarball(tarball) {
  const { size } = statSync(tarball)
  console.log(`tarball: ${size.toLocaleString('en-US')} bytes`)
  const findings = lintTarball(tarball)
  return [
    ...(size > MAX_TARBALL_BYTES ? [`the tarball has ${size} bytes, more than ${MAX_TARBALL_BYTES}\n`] : []),
    ...(findings === '' ? [] : [findings]),
  ]
}

/** The trials whose result does not depend on the package manager. */
function tryPrograms(project) {
  const packages = countPackages(project)
  console.log(`packages installed: ${packages}`)
  const tooMany = `${packages} packages are installed, more than ${MAX_PACKAGES}\n`
  const trials = [tryOthers, tryFrameworks, tryBundlers].map((tryThem) => tryThem(project, work, run))
  return {
    rows: trials.flatMap(({ rows }) => rows),
    problems: [...(packages > MAX_PACKAGES ? [tooMany] : []), ...trials.flatMap(({ problems }) => problems)],
  }
}

async function main(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { tarball: { type: 'string' } },
  })
  const isWanted = ({ name }) => positionals.length === 0 || positionals.some((start) => name.startsWith(start))
  const wanted = MANAGERS.filter(isWanted)
  if (wanted.length === 0) throw new Error(`the package managers are ${MANAGERS.map(({ name }) => name).join('; ')}`)
  fetchTools()
  const tarball = values.tarball === undefined ? pack() : resolve(values.tarball)
  const path = makePath()
  const problems = tryTarball(tarball)
  const registry = await startRegistry(tarball)
  const managers = []
  let programs = []
  for (const manager of wanted) {
    const { project, cells, problems: found } = tryManager(manager, tarball, registry.address, path)
    problems.push(...found)
    managers.push(cells)
    console.log(cells.join(' | '))
    if (manager !== MANAGERS[0]) continue
    const tried = tryPrograms(project)
    problems.push(...tried.problems)
    programs = tried.rows
    for (const cells of programs) console.log(cells.join(' | '))
  }
  registry.stop()
  if (positionals.length === 0) writeTables(managers, programs)
  process.stderr.write(problems.join(''))
  return problems.length === 0 ? 0 : 1
}

try {
  exit(await main(argv.slice(2)))
} finally {
  rmSync(work, { recursive: true, force: true })
}
