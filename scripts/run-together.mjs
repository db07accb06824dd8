// Runs programs of the tests at the same time: most of them wait for a disk or for other processes more than they compute.
import { spawn } from 'node:child_process'
import { execPath } from 'node:process'

/** Runs a script of Node: its exit status, and its output if `stdio` pipes it. */
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
 * Runs `shown`, whose output is printed as it comes, and `others` in their order at the same time, whose output is printed
 * at the end. Returns 0 if all of them do.
 */
export async function runTogether(shown, others) {
  const running = run(shown, 'inherit')
  const results = []
  for (const command of others) results.push(await run(command, ['ignore', 'pipe', 'pipe']))
  const { status } = await running
  for (const { text } of results) process.stdout.write(text)
  return [status, ...results.map((result) => result.status)].every((each) => each === 0) ? 0 : 1
}
