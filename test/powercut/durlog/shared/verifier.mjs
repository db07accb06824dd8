// The verifier: opens the log of several writers that a power cut left, in shared or exclusive mode, compares it with
// the notes, and appends to it.
import { contentOf, expectedContent } from '../content.mjs'
import { note } from '../notes.mjs'
import { between, pick, seededRandom } from '../random.mjs'
import { checkRecovery, demand, openAfterCut, replay, serve } from '../serve.mjs'
import { listingOf, openedNote } from './listing.mjs'
import { IDS_OF_A_MEMBER, SharedModel } from './model.mjs'
import { MAX_RECORD_BYTES, sharedOptions } from './options.mjs'

const RECORDS_AFTER = 4
/** The verifier's member number, to which the number of the cut is added. */
const MEMBER = 3000
const seed = Number(process.env.POWERCUT_SEED)

function openAfter(directory, random) {
  const alone = { strategy: pick(random, ['auto', 'mmap', 'pwrite', 'direct']), segmentBytes: 65_536 }
  const options = random() < 0.6 ? sharedOptions(seed, between(random, 1, 9)) : alone
  return openAfterCut(directory, random, { ...options, maxRecordBytes: MAX_RECORD_BYTES })
}

async function checkRecords(log, model) {
  const listing = await listingOf(log, (seq, id, bytes) => {
    const record = model.records.get(id)
    demand(record !== undefined, `seq ${seq} belongs to ${id}, which no writer appended`)
    demand(bytes.equals(expectedContent(seed, record)), `seq ${seq}, id ${id}, differs from the appended record`)
  })
  const reason = model.whyNot(listing)
  demand(reason === undefined, reason)
  demand(log.syncedSeq === log.nextSeq - 1, `open keeps ${log.nextSeq} records and syncs to seq ${log.syncedSeq}`)
  return listing
}

/**
 * Usually the length of a discarded record: after a frame of the same size, recovery could find the old frames again.
 */
function lengthAfter(lost, i, random) {
  return lost[i] !== undefined && random() < 0.8 ? lost[i].length : between(random, 4, 3000)
}

async function appendAfter(log, lost, cut, random) {
  for (let i = 0; i < RECORDS_AFTER; ++i) {
    const id = (MEMBER + cut) * IDS_OF_A_MEMBER + i
    const durability = random() < 0.8 ? 'sync' : 'full'
    const length = lengthAfter(lost, i, random)
    note(`i ${id} ${length}`)
    note(`a ${await log.append(contentOf(seed, id, length), { durability })} ${id} 1 ${durability}`)
  }
}

async function check(directory, cut, notes, again) {
  const model = replay(new SharedModel(), notes, again)
  const random = seededRandom(seed, notes, again.length, 14)
  const log = await openAfter(directory, random)
  try {
    checkRecovery(log.recovery)
    const listing = await checkRecords(log, model)
    note(openedNote(listing))
    await appendAfter(log, model.lostFrom(log.nextSeq), cut, random)
  } finally {
    await log.close()
  }
  return log.recovery.state
}

await serve(check)
