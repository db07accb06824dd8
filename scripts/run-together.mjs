// Runs test programs at the same time, because most of them wait for a disk or for other processes most of the time.
import { spawn } from 'node:child_process'
import { execPath } from 'node:process'
import './certificates.mjs'

/** Runs a Node script. Resolves with its exit status, and with its output if `stdio` pipes it. */
function run(command, stdio) {
  const began = performance.now()
  const child = spawn(execPath, command, { stdio })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(chunk))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status) => {
      const seconds = ((performance.now() - began) / 1000).toFixed(0)
      resolve({ status: status ?? 1, text: `\n${command.join(' ')}: ${seconds} s\n${Buffer.concat(output)}` })
    })
  })
}

/**
 * Runs `shown` and, at the same time, `others` one after the other. Prints the output of `shown` immediately and the
 * output of `others` at the end. Resolves with 0 if all exit statuses are 0, otherwise with 1.
 */
export async function runTogether(shown, others) {
  const running = run(shown, 'inherit')
  const results = []
  for (const command of others) results.push(await run(command, ['ignore', 'pipe', 'pipe']))
  const { status } = await running
  for (const { text } of results) process.stdout.write(text)
  return [status, ...results.map((result) => result.status)].every((each) => each === 0) ? 0 : 1
}
