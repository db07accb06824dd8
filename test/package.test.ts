import { execFileSync } from 'node:child_process'
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

test('its types serve ES modules and CommonJS, and refuse what the options do not allow', () => {
  const tsc = path('../node_modules/typescript/bin/tsc')
  expect(execFileSync(process.execPath, [tsc, '-p', path('types/tsconfig.json')]).toString()).toBe('')
})
