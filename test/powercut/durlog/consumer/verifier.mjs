// The verifier of the consumers' log: after the cut the log must hold every record that a cursor has still to read, and
// when shipping continues the destination must receive every record once.
import { crc32 } from 'node:zlib'
import { combinations } from '../combinations.mjs'
import { contentOf, expectedContent } from '../content.mjs'
import { note } from '../notes.mjs'
import { between, pick, seededRandom } from '../random.mjs'
import { checkRecovery, demand, openAfterCut, replay, serve, Violation } from '../serve.mjs'
import { startShipping } from './destination.mjs'
import { COMMIT_LEVELS, CURSORS, RETENTION, timeOf } from './log.mjs'
import { ConsumerModel } from './model.mjs'

const RECORDS_AFTER = 4
const seed = Number(process.env.POWERCUT_SEED)

function openAfter(directory, random, more = {}) {
  const options = { ...pick(random, combinations), segmentBytes: 65536 * between(random, 1, 4), ...more }
  return openAfterCut(directory, random, options)
}

async function checkLog(log, model) {
  const reason = model.whyNotEndAt(log.nextSeq) ?? (log.nextSeq > 0 && model.whyNotBeginAt(log.firstSeq))
  demand(!reason, reason)
  let seq = log.firstSeq
  for await (const record of log.read()) {
    demand(record.seq === seq, `seq ${record.seq} is read, but ${seq} is next`)
    demand(record.data.equals(expectedContent(seed, model.records[seq])), `record ${seq} differs from the appended one`)
    ++seq
  }
  demand(seq === log.nextSeq, `reading ends before seq ${seq}, the log before ${log.nextSeq}`)
}

/** No record that a cursor has still to read may have been removed: no byte limit is set. */
async function checkCursor(log, model, name) {
  const cursor = await log.cursor(name)
  const reason = model.whyNotAt(name, cursor.position)
  demand(reason === undefined, reason)
  demand(cursor.position <= log.nextSeq, `the cursor ${name} is at ${cursor.position}, the log ends at ${log.nextSeq}`)
  const reader = cursor.read()
  const text = (error) => `the cursor ${name} at ${cursor.position} of ${log.firstSeq} cannot read: ${error.code}`
  await reader.next().catch((error) => demand(false, text(error)))
  await reader.return()
  note(`c ${name} ${cursor.position}`)
  await cursor.close()
}

/** The contents of the destination, and the last record that it reports to a shipper. */
function destinationOf(model) {
  demand(model.disorder === undefined, model.disorder)
  return model.destination.map((crc, seq) => {
    const data = expectedContent(seed, model.records[seq])
    demand(crc32(data) === crc, `the destination's record ${seq} differs from the appended one`)
    return { uuid: model.uuid, seq, data, timestamp: timeOf(model.records[seq].batchFirst) }
  })
}

async function shipOn(log, model) {
  const stored = destinationOf(model)
  let failed
  const failure = new Promise((_, reject) => {
    failed = (error) => reject(new Violation(`the shipper fails: ${error.code}: ${error.message}`))
  })
  const shipper = startShipping(log, stored, () => {}, failed)
  try {
    await Promise.race([shipper.idle(), failure])
  } finally {
    await shipper.close()
  }
  const wrong = stored.findIndex(({ seq, data, gapFrom }, i) => {
    const whole = seq === i && gapFrom === undefined
    return !whole || !data.equals(expectedContent(seed, model.records[i]))
  })
  demand(wrong === -1, `the destination holds record ${stored[wrong]?.seq} instead of ${wrong}`)
  demand(stored.length === log.nextSeq, `the destination ends before ${stored.length}, the log before ${log.nextSeq}`)
}

/** Appends and consumes while retention runs. */
async function goOn(directory, cut, random) {
  const log = await openAfter(directory, random, { retention: RETENTION })
  const cursors = new Map()
  for (const name of CURSORS) cursors.set(name, await log.cursor(name))
  for (let i = 0; i < RECORDS_AFTER; ++i) {
    const seq = log.nextSeq
    const id = cut * 100_000_000 + seq * 10 + i
    const length = between(random, 8, 40_000)
    note(`i ${seq} ${id} ${length}`)
    await log.append(contentOf(seed, id, length), { durability: 'sync', timestamp: timeOf(seq) })
    note(`a ${seq} sync`)
    const name = pick(random, CURSORS)
    const durability = pick(random, COMMIT_LEVELS[name])
    note(`k ${name} ${seq + 1}`)
    const committed = cursors.get(name).commit(seq, { durability })
    const noted = committed.then(() => note(`K ${name} ${seq + 1} ${durability}`))
    await Promise.all([noted, log.applyRetention().then((first) => note(`R ${first}`))])
  }
  await log.close()
}

async function check(directory, cut, notes, again) {
  const model = replay(new ConsumerModel(), notes, again)
  const random = seededRandom(seed, notes, again.length, 5)
  const log = await openAfter(directory, random)
  try {
    checkRecovery(log.recovery)
    await checkLog(log, model)
    note(`o ${log.nextSeq} ${log.uuid}`)
    model.add(`o ${log.nextSeq} ${log.uuid}`)
    for (const name of CURSORS) await checkCursor(log, model, name)
    await shipOn(log, model)
  } finally {
    await log.close()
  }
  await goOn(directory, cut, random)
  return log.recovery.state
}

await serve(check)
