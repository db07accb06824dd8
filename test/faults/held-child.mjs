// Under fault_shim.c: far more than maxPendingBytes is appended at once, writes fail in the middle of it, and
// drain, trimBefore and close wait among the appends. Reports as JSON the outcome of every call.
import { open } from '../../dist/index.js'
import { arm, disarm, fired } from './shim.mjs'

const { dir, options, fault, rounds, appends, payloadBytes } = JSON.parse(process.argv[2])

const orphans = []
process.on('unhandledRejection', (error) => orphans.push(String(error)))

const log = await open(dir, options)
const fates = []
let count = 0
const append = () => {
  const name = `${count++}`
  return log.append(`${name} ${'x'.repeat(payloadBytes)}`).then(
    (seq) => fates.push({ name, seq }),
    (error) => fates.push({ name, code: error.code, outcome: error.outcome }),
  )
}
const settled = (name, promise) =>
  promise.then(
    () => `${name} done`,
    (error) => `${name} ${error.code}`,
  )

await append()
const told = []
let timesFired = 0
for (let round = 0; round < rounds; round++) {
  arm(fault)
  const calls = Array.from({ length: appends }, append)
  const drained = settled('drain', log.drain())
  const trimmed = settled('trimBefore', log.trimBefore(0))
  calls.push(...Array.from({ length: 10 }, append))
  await Promise.all(calls)
  told.push(await drained, await trimmed)
  timesFired += fired()
  disarm()
  // An append that failed without latching the log does not affect later ones; a latched log stays latched.
  await append()
}
arm(fault)
const last = Array.from({ length: appends }, append)
told.push(await settled('close', log.close()))
await Promise.all(last)
await new Promise((resolve) => setImmediate(resolve))
console.log(JSON.stringify({ fates, told, fired: timesFired, orphans }))
