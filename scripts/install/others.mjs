// Other ways to load the package: an old version of Node, as Electron contains it, and Jest, which gives each test file
// a separate module registry and global object.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tool, toolVersion } from './tools.mjs'

const JEST_TEST = `const { mkdtempSync } = require('node:fs')
const { open, DurlogError } = require('durlog')
test('appends and reads', async () => {
  const log = await open(mkdtempSync(process.env.WORK + '/jest-'))
  expect(await log.append('in Jest')).toBe(0)
  await expect(log.append('')).rejects.toBeInstanceOf(DurlogError)
  expect((await log.get(0)).data.toString()).toBe('in Jest')
  await log.close()
})
`

function tryNode18(project, work, run) {
  const data = mkdtempSync(join(work, 'log-'))
  const { passed, text } = run([tool('node18/bin/node'), './smoke.cjs', 'durlog', data], project, {})
  return { passed: passed && text.includes('ok linux'), text }
}

function tryJest(name) {
  return (project, work, run) => {
    for (const file of ['first.test.js', 'second.test.js']) writeFileSync(join(project, file), JEST_TEST)
    const jest = [tool('node24/bin/node'), tool(`${name}/node_modules/jest/bin/jest.js`)]
    return run([...jest, '--runInBand', '--rootDir', project], project, { WORK: work })
  }
}

/** Returns the rows of the table and the problems found. */
export function tryOthers(project, work, run) {
  const trials = {
    [`Node ${toolVersion('node18')}, \`require\``]: tryNode18,
    [`Jest ${toolVersion('jest29')}`]: tryJest('jest29'),
    [`Jest ${toolVersion('jest30')}`]: tryJest('jest30'),
  }
  const problems = []
  const rows = Object.entries(trials).map(([name, trial]) => {
    const { passed, text } = trial(project, work, run)
    if (!passed) problems.push(`${name}: ${text}\n`)
    return [name, passed ? 'yes' : 'no']
  })
  return { rows, problems }
}
