// Appends until the parent breaks the disk under the log, and reports the outcome as JSON.
import { once } from 'node:events'
import process from 'node:process'
import { open } from '../../dist/index.js'
import { say } from '../fixtures/say.mjs'

const { dir, options, payloadBytes = 3000, pauses = false } = JSON.parse(process.argv[2])
const codeOf = async (call) => {
  try {
    await call()
    return 'none'
  } catch (error) {
    return error.code ?? String(error)
  }
}

const log = await open(dir, options)
const latched = []
log.on('latched', (error) => latched.push(error.code))
const acked = []
const failures = []
for (let count = 0; failures.length === 0 && count < 1_000_000; count += 4) {
  const texts = Array.from({ length: 4 }, (_, i) => `${count + i} ${'x'.repeat(payloadBytes)}`)
  const outcomes = await Promise.allSettled(texts.map((text) => log.append(text)))
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') acked[outcome.value] = texts[i].split(' ')[0]
    else failures.push({ code: outcome.reason.code, outcome: outcome.reason.outcome, errno: outcome.reason.errno })
  }
  if (failures.length === 0 && count >= 40) say(`acked ${acked.length}`)
  if (pauses && count === 40) await once(process.stdin, 'data')
  if (count >= 40) await new Promise((resolve) => setImmediate(resolve))
}
const later = await codeOf(() => log.append('later'))
const readable = await codeOf(() => log.get(0))
const close = await codeOf(() => log.close())
say(JSON.stringify({ acked, failures, latched, later, readable, close }))
