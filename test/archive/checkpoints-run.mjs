// npm run trial -- archive-checkpoints [--kills N] [--seed N]: the archiver of streams is killed at a random request
// while it stores a checkpoint and removes old ones. A restore then has everything that was archived before. Another
// archiver continues, and a restore has the content of the streams.
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exit } from 'node:process'
import { parseArgs } from 'node:util'
import { restoreArchive } from 'durlog/archive'
import { openStreams } from 'durlog/streams'
import { openExclusive } from '../../dist/streams/api/open-streams.js'
import { randomFrom } from '../crash/payload.mjs'
import { FakeS3 } from '../fixtures/fake-s3.mjs'

const ARCHIVER = new URL('checkpoint-archiver.mjs', import.meta.url).pathname
const HOUR_MS = 3_600_000
/** An archiver makes about so many requests. */
const REQUESTS = 40

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '100' }, seed: { type: 'string', default: '1' } },
})
const random = randomFrom(Number(values.seed))
const below = (n) => Math.floor(random() * n)
const dir = mkdtempSync(join(tmpdir(), 'durlog-checkpoints-'))
const s3 = await new FakeS3().start()
// A small main log, which checkpoints trim.
const streams = await openExclusive(join(dir, 'streams'), {}, { logSegmentBytes: 65_536 })
/** The streams that were created, by name, and the number of values that each had at the last complete archive. */
const archived = new Map()
let later = 0

async function contentOf(some) {
  const found = {}
  for await (const { name } of some.list()) {
    found[name] = []
    for await (const { seq, value, timestamp } of some.stream(name).read()) found[name].push([seq, value, timestamp])
  }
  return found
}

async function restoredContent() {
  const to = join(dir, 'restored')
  await restoreArchive(to, s3.access)
  const copy = await openStreams(to, { exclusive: true })
  const content = await contentOf(copy)
  await copy.close()
  rmSync(to, { recursive: true })
  return content
}

/** Appends to new and old streams, deletes one, and makes a checkpoint. */
async function change(round) {
  const names = [`new-${round}`, ...archived.keys()]
  const appended = []
  for (let n = 0; n < 20; n++) {
    const name = names[below(names.length)]
    appended.push(streams.stream(name).append(`${round}.${n} ${'x'.repeat(below(12_000))}`))
  }
  await Promise.all(appended)
  if (archived.size > 8) {
    const name = [...archived.keys()][below(archived.size)]
    archived.delete(name)
    await streams.stream(name).delete()
  }
  await streams.checkpoint()
}

/** Runs an archiver. It is killed at its request number `killAt`. Returns whether it was. */
async function archiveOnce(killAt) {
  const child = fork(ARCHIVER, [join(streams.dir, 'log'), JSON.stringify(s3.access), String(later)])
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
  let requests = 0
  const isStored = below(2) === 0
  s3.fault = () => {
    if (++requests !== killAt) return undefined
    child.kill('SIGKILL')
    return isStored ? undefined : { drop: true }
  }
  const { code, signal } = await ended
  s3.fault = () => undefined
  assert(signal === 'SIGKILL' || code === 0, `the archiver has ended with ${code}`)
  return signal === 'SIGKILL'
}

let kills = 0
for (let round = 0; kills < Number(values.kills); round++) {
  await change(round)
  later += 2 * HOUR_MS
  const content = await contentOf(streams)
  if (round > 0 && (await archiveOnce(1 + below(REQUESTS)))) {
    kills++
    const left = await restoredContent()
    for (const [name, count] of archived) {
      // Each value that was archived before, and none that was not appended.
      assert(left[name]?.length >= count, `${name} has lost values`)
      assert.deepEqual(left[name], content[name].slice(0, left[name].length))
    }
  }
  await archiveOnce()
  assert.deepEqual(await restoredContent(), content)
  archived.clear()
  for (const [name, own] of Object.entries(content)) archived.set(name, own.length)
}
const objects = s3.keys().length
await streams.close()
await s3.stop()
rmSync(dir, { recursive: true, force: true })
console.log(JSON.stringify({ kills, objects, requests: s3.requests.length }))
exit()
