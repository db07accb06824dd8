// The verifier's side of the seam: questions on standard input, answers on standard output.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { open } from '../../../dist/index.js'
import { observe, whyNotObserved } from './observers.mjs'

const recorded = readFileSync(process.env.POWERCUT_RECORDED, 'utf8').split('\n')

/** A promise in the notes does not hold. */
export class Violation extends Error {}

export function demand(holds, text) {
  if (!holds) throw new Violation(text)
}

/** `log.recovery` must be consistent, and a power cut must never damage synced records. */
export function checkRecovery({ state, discardedBytes, discardedRecords, damage, lost }) {
  const cut = state === 'torn-tail' || state === 'hole'
  demand(state === 'clean' || cut, `recovery is ${state}`)
  demand((damage !== undefined) === cut, `recovery is ${state} with damage at ${JSON.stringify(damage)}`)
  demand(lost === undefined, `recovery lost ${JSON.stringify(lost)}`)
  demand(cut || discardedBytes === 0, `recovery is ${state} and discarded ${discardedBytes} bytes`)
  demand(discardedRecords > 0 === (state === 'hole'), `recovery is ${state} and discarded ${discardedRecords} records`)
}

/** Opens the log that a cut has left in `directory`. In half of the cases, `verify` and a reader look at it before. */
export async function openAfterCut(directory, random, options) {
  const path = join(directory, 'log')
  const looks = random() < 0.5
  const observed = looks ? await observe(path) : undefined
  const log = await open(path, options).catch((error) => {
    throw new Violation(`open fails: ${error.code}: ${error.message}`)
  })
  const reason = looks ? await whyNotObserved(observed, log) : undefined
  if (reason === undefined) return log
  await log.close()
  throw new Violation(reason)
}

/** Applies the first `notes` notes of the workload to `model`, then a power cut, and then the later notes. */
export function replay(model, notes, again) {
  for (const line of recorded.slice(0, notes)) model.add(line)
  model.powerCut()
  for (const line of again) model.add(line)
  return model
}

/** A machine boots after a power cut: durlog must not find the boot id that it stored before. */
function requireBoot() {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  if (boot !== process.env.POWERCUT_BOOT)
    throw new Error(`the boot id is ${boot}, and the rig has chosen ${process.env.POWERCUT_BOOT}`)
}

/** Answers each question with the result or the error of `check(directory, cut, notes, again)`. */
export async function serve(check) {
  requireBoot()
  const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  for (;;) {
    const { value: question, done } = await input.next()
    if (done) break
    const [, cut, notes, againCount, ...directory] = question.split(' ')
    const again = []
    while (again.length < Number(againCount)) again.push((await input.next()).value)
    process.stdout.write(`${await answer(check, directory.join(' '), Number(cut), Number(notes), again)}\n`)
  }
}

async function answer(check, ...question) {
  try {
    return `ok ${await check(...question)}`
  } catch (error) {
    const text = error instanceof Violation ? error.message : (error.stack ?? String(error))
    return `violation ${text.replaceAll('\n', ' ')}`
  }
}
