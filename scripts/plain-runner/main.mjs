// Runs one vitest file in this process without vitest itself, on any system with Node 22.18 or later:
//
//   node --import ./scripts/plain-runner/resolve.mjs scripts/plain-runner/main.mjs test/log.test.ts [name pattern]
//
// Prints a JSON line for each test: { name, state: pass | fail | skip, note, ms }. The exit status is 1 if a test
// failed.
import { writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { argv, cwd, exit } from 'node:process'
import { pathToFileURL } from 'node:url'
import { startTests } from '@vitest/runner'
import '../certificates.mjs'

const TIMEOUT_MS = 180_000
const [file, pattern] = argv.slice(2)

const config = {
  root: cwd(),
  name: '',
  allowOnly: true,
  maxConcurrency: 1,
  testTimeout: TIMEOUT_MS,
  hookTimeout: TIMEOUT_MS,
  retry: 0,
  setupFiles: [],
  tags: [],
  passWithNoTests: true,
  includeTaskLocation: false,
  sequence: { hooks: 'stack', setupFiles: 'list', concurrent: false, shuffle: false, seed: 0 },
  ...(pattern === undefined ? {} : { testNamePattern: new RegExp(pattern) }),
}

function fullName(task) {
  const names = []
  for (let each = task; each !== undefined && each !== task.file; each = each.suite) names.unshift(each.name)
  return names.join(' > ')
}

// Written synchronously, not through stdout: the results of earlier tests must not be lost if a test ends the process.
function report(task) {
  const state = { pass: 'pass', fail: 'fail' }[task.result?.state] ?? 'skip'
  const errors = task.result?.errors ?? []
  const note =
    state === 'fail' ? errors.map((error) => error.stack ?? error.message).join('\n') : (task.result?.note ?? '')
  const ms = Math.round(task.result?.duration ?? 0)
  writeSync(1, `${JSON.stringify({ name: fullName(task), state, note, ms })}\n`)
}

function reportSkipped(task) {
  for (const child of task.tasks ?? []) reportSkipped(child)
  if (task.type === 'test' && task.result === undefined) report(task)
}

const runner = {
  config,
  importFile: (path) => import(pathToFileURL(path).href),
  onAfterRunTask: report,
}
// A test may wait for a timer that keeps no process alive. vitest's own process stays alive too.
setInterval(() => {}, TIMEOUT_MS)
const files = await startTests([{ filepath: resolve(file) }], runner)
let failed = false
for (const each of files) {
  reportSkipped(each)
  failed ||= each.result?.state === 'fail'
  for (const error of each.result?.errors ?? []) {
    writeSync(
      1,
      `${JSON.stringify({ name: '(the file)', state: 'fail', note: error.stack ?? error.message, ms: 0 })}\n`,
    )
  }
}
exit(failed ? 1 : 0)
