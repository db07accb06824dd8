// The workload: two to four processes on one log at the same time. Some are killed with SIGKILL while the others
// continue, and some all at once. In between, a single process opens the log in shared or exclusive mode.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inspect, open } from '../../../../dist/index.js'
import { openRestored } from '../../../../dist/open.js'
import { note } from '../notes.mjs'
import { between, seededRandom } from '../random.mjs'
import { listingOf, openedNote } from './listing.mjs'
import { LoneWriter } from './lone-writer.mjs'
import { sharedOptions } from './options.mjs'

const seed = Number(process.env.POWERCUT_SEED)
const directory = join(process.env.POWERCUT_DIR, 'log')
const random = seededRandom(seed, 13)
let members = 0

/** The syncs of the first member of each phase can do nothing: the rig must detect that. */
function environmentOf(isFirst) {
  const liar = process.env.POWERCUT_LIAR
  return isFirst && liar ? { ...process.env, LD_PRELOAD: liar, DURLOG_BREAK: 'ack-before-sync' } : process.env
}

function startMember(ending, isFirst) {
  const number = ++members
  const script = join(import.meta.dirname, 'member.mjs')
  const child = spawn(process.execPath, [script, String(number), ending], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: environmentOf(isFirst),
  })
  const lines = createInterface({ input: child.stdout })
  const said = (line) => new Promise((resolve) => lines.on('line', (found) => found === line && resolve()))
  const ended = new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)))
  return { number, child, ending, opened: said('open'), ready: said('kill me'), ended }
}

async function expectEnd({ number, ending, ended }) {
  const how = await ended
  if (how === (ending === 'kill' ? 'SIGKILL' : 0)) return
  console.error(`member ${number} of the workload ended with ${how}`)
  process.exit(1)
}

/** Kills it after its steps, in the middle of an operation. */
async function killWhenReady(member) {
  await Promise.race([member.ready, member.ended])
  await new Promise((resolve) => setTimeout(resolve, random() * 3))
  note(`k ${member.number}`)
  member.child.kill('SIGKILL')
}

/** Opens the log while no other process has it open, so that the note lists the whole log. */
async function openFirst(options) {
  const log = await open(directory, options)
  note(openedNote(await listingOf(log)))
  return log
}

/** Opens the log of several writers in exclusive mode: appends, takes seqs without a record, and truncates. */
async function writeAlone() {
  const { uuid } = await inspect(directory)
  const log = await openRestored(directory, { uuid, firstSeq: 0, generation: 0 }, { segmentBytes: 65_536 })
  note(openedNote(await listingOf(log)))
  const writer = new LoneWriter(log, seed, ++members, random)
  for (let round = between(random, 1, 4); round > 0; --round) {
    await writer.append()
    if (random() < 0.5) await writer.takeVoid()
    if (random() < 0.7) await writer.truncate()
  }
  await log.close()
}

async function writeTogether(allDie) {
  const first = await openFirst(sharedOptions(seed, 0))
  const present = Array.from({ length: between(random, 2, 4) }, (_, i) =>
    startMember(allDie || (i > 0 && random() < 0.4) ? 'kill' : 'close', i === 0),
  )
  await Promise.all(present.map(({ opened, ended }) => Promise.race([opened, ended])))
  // This process must not be the last to leave: the last one marks the end of the log.
  await first.close()
  await Promise.all(
    present.map(async (member) => {
      if (member.ending === 'kill') await killWhenReady(member)
      await expectEnd(member)
      if (member.ending === 'kill' && !allDie && random() < 0.5) await expectEnd(startMember('close', false))
    }),
  )
}

for (let phase = between(random, 2, 3); phase > 0; --phase) {
  await writeTogether(random() < 0.4)
  if (random() < 0.6) await writeAlone()
}
await (await openFirst(sharedOptions(seed, 0))).close()
