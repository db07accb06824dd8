// Under fault_shim.c: one trim, or the life of one cursor, while the fault strikes; reports the outcome of each call as
// JSON.
import { open } from '../../dist/index.js'
import { arm, disarm, fired } from './shim.mjs'

const { dir, options, step, fault } = JSON.parse(process.argv[2])
const RECORDS = 40
const TRIM_TO = 30

const outcomeOf = async (call) => {
  try {
    await call()
    return 'done'
  } catch ({ code, errnoName }) {
    return errnoName === undefined ? code : `${code} ${errnoName}`
  }
}

async function failOnce(call) {
  arm(fault)
  const outcome = await outcomeOf(call)
  const count = fired()
  disarm()
  return { outcome, fired: count }
}

async function trim(log) {
  const failed = await failOnce(() => log.trimBefore(TRIM_TO))
  const left = []
  for await (const { seq } of log.read()) left.push(seq)
  return { ...failed, left, again: await outcomeOf(() => log.trimBefore(TRIM_TO)), first: log.firstSeq }
}

async function createCursor(log) {
  const failed = await failOnce(() => log.cursor('reader', { from: 'first' }))
  const cursor = await log.cursor('reader', { from: 'first' })
  const result = { ...failed, again: await outcomeOf(() => cursor.commit(10, { durability: 'sync' })) }
  await cursor.close()
  return result
}

async function commit(log) {
  const cursor = await log.cursor('reader', { from: 'first' })
  await cursor.commit(5, { durability: 'sync' })
  const failed = await failOnce(() => cursor.commit(10, { durability: 'sync' }))
  const again = await outcomeOf(() => cursor.commit(11, { durability: 'sync' }))
  await cursor.close()
  const reopened = await log.cursor('reader')
  const { position } = reopened
  const afterwards = await outcomeOf(() => reopened.commit(20, { durability: 'sync' }))
  await reopened.close()
  return { ...failed, again, position, afterwards }
}

const log = await open(dir, options)
for (let i = 0; i < RECORDS; i++) await log.append(`${i} ${'x'.repeat(8000)}`)
const result = await { trim, createCursor, commit }[step](log)
result.append = await outcomeOf(() => log.append('after the fault'))
result.close = await outcomeOf(() => log.close())
console.log(JSON.stringify(result))
