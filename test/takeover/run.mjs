// npm run trial -- takeover [--takeovers N] [--seed N] [--each N] [--brokers] [--namespaces]: takeovers of replicated
// streams while machines are killed, stopped and separated, `each` of them with one store; with --brokers, with one
// cluster of nats-servers, which are killed too; with --namespaces (Linux, root), with each machine and each
// nats-server in a network namespace, and packets between two of them are lost.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, exit } from 'node:process'
import { parseArgs } from 'node:util'
import { runTakeovers } from './trial.mjs'

const { values } = parseArgs({
  args: argv.slice(2),
  options: {
    takeovers: { type: 'string', default: '200' },
    each: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    brokers: { type: 'boolean', default: false },
    namespaces: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
})
const { brokers, namespaces } = values
const report = values.verbose ? (line) => console.log(line) : () => {}
const dir = mkdtempSync(join(tmpdir(), 'durlog-takeover-'))
const total = { takeovers: 0, appends: 0, faults: {} }
const begun = Date.now()
let status = 0

for (let seed = Number(values.seed); total.takeovers < Number(values.takeovers); seed++) {
  const takeovers = Math.min(Number(values.each), Number(values.takeovers) - total.takeovers)
  const own = join(dir, `seed-${seed}`)
  try {
    const found = await runTakeovers(own, { takeovers, seed, brokers, namespaces, report })
    total.takeovers += found.takeovers
    total.appends += found.appends
    for (const [fault, count] of Object.entries(found.faults)) total.faults[fault] = (total.faults[fault] ?? 0) + count
    console.log(
      `seed ${seed}: ${found.takeovers} takeovers, ${found.appends} acknowledgements, ${found.compared} records of replicas`,
    )
    rmSync(own, { recursive: true, force: true })
  } catch (error) {
    console.log(`seed ${seed}: BROKEN (${own}): ${error.stack}`)
    status = 1
    break
  }
}
console.log(`${total.takeovers} takeovers, ${total.appends} acknowledgements, ${Date.now() - begun} ms`)
console.log(JSON.stringify(total.faults))
if (status === 0) rmSync(dir, { recursive: true, force: true })
exit(status)
