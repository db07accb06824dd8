// The verifier: opens the log of several writers that a power cut left, in shared mode or alone, holds it against the
// notes, and appends to it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from '../../../../dist/index.js'
import { contentOf, expectedContent } from '../content.mjs'
import { note } from '../notes.mjs'
import { between, pick, seededRandom } from '../random.mjs'
import { checkRecovery, demand, serve, Violation } from '../serve.mjs'
import { listingOf, openedNote } from './listing.mjs'
import { IDS_OF_A_MEMBER, SharedModel } from './model.mjs'
import { MAX_RECORD_BYTES, sharedOptions } from './options.mjs'

const RECORDS_AFTER = 4
/** Of the verifier as a member; plus the number of the cut. */
const MEMBER = 3000
const seed = Number(process.env.POWERCUT_SEED)
const recorded = readFileSync(process.env.POWERCUT_RECORDED, 'utf8').split('\n')

async function openAfter(directory, random) {
  const alone = { strategy: pick(random, ['auto', 'mmap', 'pwrite', 'direct']), segmentBytes: 65_536 }
  const options = random() < 0.6 ? sharedOptions(seed, between(random, 1, 9)) : alone
  try {
    return await open(join(directory, 'log'), { ...options, maxRecordBytes: MAX_RECORD_BYTES })
  } catch (error) {
    throw new Violation(`open fails: ${error.code}: ${error.message}`)
  }
}

async function checkRecords(log, model) {
  const listing = await listingOf(log, (seq, id, bytes) => {
    const record = model.records.get(id)
    demand(record !== undefined, `seq ${seq} is of ${id}, which nobody appended`)
    demand(bytes.equals(expectedContent(seed, record)), `seq ${seq}, id ${id}, is not what was appended`)
  })
  const reason = model.whyNot(listing)
  demand(reason === undefined, reason)
  demand(log.syncedSeq === log.nextSeq - 1, `open keeps ${log.nextSeq} records and syncs to seq ${log.syncedSeq}`)
  return listing
}

/** As long as those that recovery discarded: behind a frame of the same size, what it left would be met again. */
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
  const model = new SharedModel()
  for (const line of recorded.slice(0, notes)) model.add(line)
  model.powerCut()
  for (const line of again) model.add(line)
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
