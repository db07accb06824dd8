/** The published types with the oldest versions of TypeScript that docs/INSTALL.md names. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { cacheFolder } from '../scripts/cache.mjs'
import { downloadEnvironment } from '../scripts/certificates.mjs'

/** Without the declarations of browsers, whose check takes half of the time. */
const FLAGS = '--noEmit --strict --target es2022 --lib es2022 --module nodenext --types node'

/** The compiler, which is downloaded once, or the reason why that fails. */
function fetchCompiler(version: string): { tsc: string } | { problem: string } {
  const folder = cacheFolder(`typescript-${version}`)
  const tsc = join(folder, 'package/lib/tsc.js')
  if (existsSync(tsc)) return { tsc }
  mkdirSync(cacheFolder(), { recursive: true })
  const making = mkdtempSync(`${folder}-`)
  try {
    const args = ['pack', `typescript@${version}`, '--silent', '--fetch-retries=0', '--fetch-timeout=20000']
    execFileSync('npm', args, { cwd: making, stdio: 'pipe', timeout: 40_000, env: downloadEnvironment() })
    execFileSync('tar', ['xzf', `typescript-${version}.tgz`], { cwd: making, stdio: 'pipe' })
    // Another process may have finished first.
    if (!existsSync(folder)) renameSync(making, folder)
    return { tsc }
  } catch (error) {
    return { problem: `typescript@${version} cannot be fetched: ${(error as Error).message.split('\n')[0]}` }
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
}

const types = (name: string): string => fileURLToPath(new URL(`types/${name}`, import.meta.url))

function compile(version: string, skip: (note: string) => void, ...args: string[]): string {
  const fetched = fetchCompiler(version)
  if ('problem' in fetched) {
    process.stdout.write(`skipped: ${fetched.problem}\n`)
    skip(fetched.problem)
    return ''
  }
  return execFileSync(process.execPath, [fetched.tsc, ...FLAGS.split(' '), ...args]).toString()
}

const EXACT = '--exactOptionalPropertyTypes'
const library = types('import.mts')
const jetstream = types('jetstream.mts')

// The declarations of the NATS client do not compile with exactOptionalPropertyTypes in any version, and use the
// generic Uint8Array of TypeScript 5.7.
test.for([
  ['5.0.4', 'those of durlog', [EXACT, library]],
  ['5.0.4', 'those of durlog/jetstream, with skipLibCheck', [EXACT, '--skipLibCheck', jetstream]],
  ['5.7.3', 'all, with the declarations of the NATS client', [library, jetstream]],
] as const)('the types compile with TypeScript %s: %s', { timeout: 300_000 }, ([version, , args], { skip }) => {
  expect(compile(version, skip, ...args)).toBe('')
})
