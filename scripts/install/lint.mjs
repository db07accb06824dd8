// Runs publint and "are the types wrong" (attw) on the packed package, and prints their findings.
//
//   npm run lint:package [-- durlog-0.1.0.tgz]
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { argv, execPath, exit } from 'node:process'
import { fileURLToPath } from 'node:url'
import { fetchTool, tool } from './tools.mjs'

function run(args) {
  const { status, stdout, stderr } = spawnSync(execPath, args, { encoding: 'utf8' })
  return status === 0 ? '' : `${stdout}${stderr}`
}

/** The linters' complaints about the tarball; '' if there are none. */
export function lintTarball(tarball) {
  fetchTool('linters')
  const folder = mkdtempSync(join(tmpdir(), 'durlog-lint-'))
  try {
    execFileSync('tar', ['xzf', tarball, '-C', folder])
    const publint = [tool('linters/node_modules/publint/src/cli.js'), join(folder, 'package')]
    const types = [tool('linters/node_modules/@arethetypeswrong/cli/dist/index.js'), tarball]
    return run([...publint, '--strict', '--pack', 'false']) + run(types)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs `npm pack` without its scripts, which need the binaries: the linters do not depend on them. */
function pack(folder) {
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]
  return join(folder, execFileSync('npm', args, { encoding: 'utf8' }).trim())
}

function main([tarball]) {
  const folder = mkdtempSync(join(tmpdir(), 'durlog-packed-'))
  try {
    const findings = lintTarball(tarball === undefined ? pack(folder) : resolve(tarball))
    console.log(findings === '' ? 'publint and attw found no problems' : findings)
    return findings === '' ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) exit(main(argv.slice(2)))
