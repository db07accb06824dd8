// npm run test:all: every test of `npm run check`. The tests of the package use all processors; the others mostly one
// each, or wait for a disk, so they run at the same time. The output of each is printed when it ends.
import { spawn, spawnSync } from 'node:child_process'
import { execPath, exit } from 'node:process'

const FIRST = [
  ['scripts/test-core.mjs', '--gtest_brief=1'],
  ['node_modules/vitest/vitest.mjs', 'run'],
]
const TOGETHER = [
  ['scripts/test-crash.mjs'],
  ['scripts/test-schedules.mjs'],
  ['test/trials/main.mjs', 'faults', '--short'],
  ['scripts/fuzz.mjs', '--seconds', '20'],
]

function runAside(command) {
  const began = performance.now()
  const child = spawn(execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status) => {
      console.log(`\n${command.join(' ')}: ${((performance.now() - began) / 1000).toFixed(0)} s`)
      process.stdout.write(Buffer.concat(output))
      resolve(status ?? 1)
    })
  })
}

for (const command of FIRST) {
  const { status } = spawnSync(execPath, command, { stdio: 'inherit' })
  if (status !== 0) exit(status ?? 1)
}
const statuses = await Promise.all(TOGETHER.map(runAside))
exit(statuses.every((status) => status === 0) ? 0 : 1)
