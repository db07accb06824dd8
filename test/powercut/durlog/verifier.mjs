// The verifier: opens the log that a power cut left, compares it with the notes, and appends to it.
import { combinations, hasGrowingSegments } from './combinations.mjs'
import { contentOf, expectedContent, looksLike } from './content.mjs'
import { Model } from './model.mjs'
import { note } from './notes.mjs'
import { between, pick, seededRandom } from './random.mjs'
import { checkRecovery, demand, openAfterCut, replay, serve } from './serve.mjs'

const RECORDS_AFTER = 4
const seed = Number(process.env.POWERCUT_SEED)

function checkBounds(log, model) {
  const reason = model.whyNotEndAt(log.nextSeq) ?? (log.nextSeq > 0 && model.whyNotBeginAt(log.firstSeq))
  demand(!reason, reason)
  demand(model.uuid === undefined || log.uuid === model.uuid, `the log ${model.uuid} is now ${log.uuid}`)
  demand(log.syncedSeq === log.nextSeq - 1, `open keeps ${log.nextSeq} records and syncs to seq ${log.syncedSeq}`)
}

async function checkRecords(log, model) {
  let seq = log.firstSeq
  for await (const record of log.read()) {
    demand(record.seq === seq, `seq ${record.seq} is read, but ${seq} is next`)
    const expected = model.records[seq]
    const text = () =>
      `id ${expected.id} of ${expected.length} bytes, found ${record.data.length}: ${looksLike(record.data)}`
    demand(
      record.data.equals(expectedContent(seed, expected)),
      `record ${seq} differs from the appended one: ${text()}`,
    )
    ++seq
  }
  demand(seq === log.nextSeq, `reading ends before seq ${seq}, the log before ${log.nextSeq}`)
}

/** A cursor past the end of the log, or in cut records, must report that and must not read other records instead. */
async function checkCursor(log, model) {
  if (model.cursor === undefined) return
  const cursor = await log.cursor('reader')
  const { position } = cursor
  const reader = cursor.read()
  const failure = await reader.next().then(
    () => undefined,
    (error) => error.code,
  )
  await reader.return()
  await cursor.close()
  const reason = model.whyNotAtPosition(position)
  demand(!reason, reason)
  if (failure === 'ERR_DURLOG_CURSOR_CUT') return
  if (position < log.firstSeq) demand(failure === 'ERR_DURLOG_CURSOR_OVERRUN', `a trimmed cursor reads: ${failure}`)
  else demand(failure === undefined, `the cursor at ${position} cannot read: ${failure}`)
  demand(position <= log.nextSeq, `the cursor is at ${position}, and the log ends before ${log.nextSeq}`)
}

/**
 * Usually the length of a discarded record: after a frame of the same size, recovery could find the old frames again.
 */
function lengthAfter(discarded, i, random) {
  const record = discarded[i]
  return record !== undefined && random() < 0.8 ? record.length : between(random, 1, 3000)
}

async function appendAfter(log, discarded, cut, random) {
  for (let i = 0; i < RECORDS_AFTER; ++i) {
    const seq = log.nextSeq
    const id = cut * 100_000_000 + seq * 10 + i
    const durability = random() < 0.8 ? 'sync' : 'full'
    const length = lengthAfter(discarded, i, random)
    note(`i ${seq} ${id} ${length}`)
    const found = await log.append(contentOf(seed, id, length), { durability })
    demand(found === seq, `seq ${found} was assigned, but ${seq} was next`)
    note(`a ${seq} ${durability}`)
  }
}

function openAfter(directory, random) {
  const maxRecord = 200 * 1024
  const options = {
    ...pick(random, combinations),
    segmentBytes: (hasGrowingSegments(seed) ? 8 : 1) * 65536 * between(random, 4, 8),
    maxRecordBytes: maxRecord,
  }
  return openAfterCut(directory, random, options)
}

async function check(directory, cut, notes, again) {
  const model = replay(new Model(), notes, again)
  const random = seededRandom(seed, notes, again.length, 3)
  const log = await openAfter(directory, random)
  try {
    checkRecovery(log.recovery)
    checkBounds(log, model)
    await checkRecords(log, model)
    await checkCursor(log, model)
    const discarded = model.records.slice(log.nextSeq)
    note(`o ${log.nextSeq} ${log.uuid}`)
    await appendAfter(log, discarded, cut, random)
  } finally {
    await log.close()
  }
  return log.recovery.state
}

await serve(check)
