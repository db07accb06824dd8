// Under fault_shim.c: appends while the fault strikes, and reports as JSON the outcome of every call.
import { open } from '../../dist/index.js'
import { arm, disarm, fired } from './shim.mjs'

const {
  dir,
  options,
  fault,
  payloadBytes,
  before = 20,
  groups = 60,
  groupSize = 10,
  batches,
  untilRefused = false,
  closeFault,
} = JSON.parse(process.argv[2])

const payload = (index) => `${index} ${'x'.repeat(payloadBytes)}`
const fate = (outcome, text) =>
  outcome.status === 'fulfilled'
    ? { text, seq: outcome.value }
    : {
        text,
        code: outcome.reason.code,
        outcome: outcome.reason.outcome,
        syscall: outcome.reason.syscall,
        path: outcome.reason.path,
      }
const codeOf = async (call) => {
  try {
    await call()
    return 'none'
  } catch (error) {
    return error.code ?? String(error)
  }
}
const textsOf = async (log) => {
  const texts = []
  for await (const { data } of log.read()) texts.push(data.toString())
  return texts
}

const log = await open(dir, options)
const latched = []
log.on('latched', (error) => latched.push(error.code))
let count = 0
const appendGroup = async (size) => {
  const texts = Array.from({ length: size }, () => payload(count++))
  const batch = batches && count > before ? log.appendBatch(texts) : undefined
  const outcomes = await Promise.allSettled(
    texts.map((text, i) => (batch === undefined ? log.append(text) : batch.then(({ first }) => first + i))),
  )
  return outcomes.map((outcome, i) => fate(outcome, texts[i].split(' ')[0]))
}

const early = await appendGroup(before)
arm(fault)
// Two groups at a time: one is being synced while the next is framed after it.
const fates = []
const isOver = () => (untilRefused ? fates.some(({ code }) => code !== undefined) : fired() > 0)
for (let group = 0; group < groups && !isOver(); group++) {
  const first = appendGroup(groupSize)
  await new Promise((resolve) => setImmediate(resolve))
  const second = appendGroup(groupSize)
  fates.push(...(await first), ...(await second))
}
const timesFired = fired()
disarm()

const result = {
  early,
  fates,
  fired: timesFired,
  mode: log.stats().mode,
  later: await codeOf(() => log.append('later')),
  laterWrite: await codeOf(() => log.write('later-write')),
  laterSync: await codeOf(() => log.appendSync('later-sync')),
  sync: await codeOf(() => log.sync()),
  read: (await textsOf(log)).map((text) => text.split(' ')[0]),
  nextSeq: log.nextSeq,
  latched,
  close: await codeOf(() => {
    if (closeFault) arm(closeFault)
    return log.close()
  }),
}
console.log(JSON.stringify(result))
