/** The runner of the long trials, and the workflow that runs them. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RUNNER = join(ROOT, 'test/trials/main.mjs')
const runner = (...args: string[]) => spawnSync(process.execPath, [RUNNER, ...args], { encoding: 'utf8' })
const namesIn = (usage: string): string[] => [...usage.matchAll(/^ {2}([\w-]+) /gm)].map(([, name]) => name as string)

test('each trial runs a file that exists', () => {
  const files = [...readFileSync(RUNNER, 'utf8').matchAll(/'(test\/[\w./-]+)'/g)].map(([, file]) => file as string)
  expect(files.length).toBeGreaterThan(8)
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
})

test('an unknown trial is refused with the list of trials', () => {
  const { status, stderr } = runner('unknown')
  expect([status, namesIn(stderr).includes('power-cut')]).toEqual([2, true])
})

test('each night every trial runs', () => {
  const workflow = readFileSync(join(ROOT, '.github/workflows/nightly.yml'), 'utf8')
  const nightly = [...workflow.matchAll(/^ {10}- ([\w-]+)(?: --.*)?$/gm)].map(([, name]) => name as string)
  // A trial may run several times, with other options.
  expect([...new Set(nightly)].sort()).toEqual(namesIn(runner().stderr).sort())
})
