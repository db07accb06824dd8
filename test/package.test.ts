import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { scratchDir } from './fixtures/scratch.js'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

test.each([
  ['required.cjs', 'from CommonJS ERR_DURLOG_RECORD_EMPTY\n'],
  ['imported.mjs', 'from an ES module ERR_DURLOG_RECORD_EMPTY\n'],
])('the built package loads and appends from %s', (fixture, printed) => {
  const out = execFileSync(process.execPath, ['--no-warnings', path(`fixtures/${fixture}`), scratchDir()])
  expect(out.toString()).toBe(printed)
})

/** Unpacks a compiler below `dir`; why it can't be had, or ''. */
function fetchCompiler(version: string, dir: string): string {
  try {
    const args = ['pack', `typescript@${version}`, '--silent', '--fetch-retries=0', '--fetch-timeout=20000']
    execFileSync('npm', args, { cwd: dir, stdio: 'pipe', timeout: 40_000 })
    execFileSync('tar', ['xzf', `typescript-${version}.tgz`], { cwd: dir, stdio: 'pipe' })
    return ''
  } catch (error) {
    return `typescript@${version} can't be fetched: ${(error as Error).message.split('\n')[0]}`
  }
}

test.for(['5.0.4', '5.4.5'])('its types compile with TypeScript %s', { timeout: 300_000 }, (version, { skip }) => {
  const dir = scratchDir()
  const problem = fetchCompiler(version, dir)
  if (problem !== '') process.stdout.write(`skipped: ${problem}\n`)
  skip(problem !== '', problem)
  const tsc = join(dir, 'package/lib/tsc.js')
  const flags = '--noEmit --strict --exactOptionalPropertyTypes --target es2022 --module nodenext --types node'
  expect(execFileSync(process.execPath, [tsc, ...flags.split(' '), path('types/import.mts')]).toString()).toBe('')
})

test('its types serve ES modules and CommonJS, and refuse what the options do not allow', () => {
  const tsc = path('../node_modules/typescript/bin/tsc')
  expect(execFileSync(process.execPath, [tsc, '-p', path('types/tsconfig.json')]).toString()).toBe('')
})
