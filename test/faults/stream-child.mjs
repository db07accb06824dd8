// Under fault_shim.c: writes chunks into writable() while commits fail, and reports the result of each callback.
import { open } from '../../dist/index.js'
import { arm, disarm, fired } from './shim.mjs'

const { dir, options, fault, rounds, chunks, payloadBytes } = JSON.parse(process.argv[2])

const log = await open(dir, options)
const told = []
let timesFired = 0
for (let round = 0; round < rounds; round++) {
  const writable = log.writable({ highWaterMark: 2 ** 30 })
  const ended = new Promise((resolve) => writable.once('error', resolve).once('finish', resolve))
  arm({ ...fault, nth: 1 + (round % 4) })
  const outcomes = await Promise.all(
    Array.from({ length: chunks }, (_, i) => {
      const name = `${round}-${i}`
      const text = `${name} ${'x'.repeat(payloadBytes)}`
      return new Promise((resolve) => writable.write(text, (error) => resolve({ name, failed: Boolean(error) })))
    }),
  )
  timesFired += fired()
  disarm()
  writable.end()
  await ended
  told.push(outcomes)
}
await log.close()
console.log(JSON.stringify({ told, fired: timesFired }))
