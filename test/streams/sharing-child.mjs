// One of several processes that share a folder of streams. Appends until it is killed, or follows streams. Prints
// lines:
//   o                      opened
//   w N STREAM EXPECTED    append number N is requested; EXPECTED is its expectedSeq or -1; a batch prints a line for
//                          each append
//   a N SEQ                append number N is acknowledged
//   r N                    append number N was refused because of its condition
//   f STREAM SEQ N         a follower has received append number N
//   v TEXT                 a guarantee was violated
import { openStreams } from '../../dist/streams/index.js'
import { randomFrom } from '../crash/payload.mjs'
import { say } from '../fixtures/say.mjs'
import { trialValue } from './trial-values.mjs'

const { dir, seed, options, firstNumber, names, follow } = JSON.parse(process.argv[2])
const random = randomFrom(seed)
const upTo = (most) => Math.floor(random() * most)

const streams = await openStreams(dir, options)
streams.on('changed', (change) => say(`v another program changed ${JSON.stringify(change)}`))
streams.on('checkpointFailed', (error) => say(`v a checkpoint failed: ${error.stack}`))
say('o')

async function followStream(name, from) {
  for await (const { seq, value } of streams.stream(name).read({ from, follow: true }))
    say(`f ${name} ${seq} ${value.n}`)
}

let number = firstNumber
const next = new Map()
let pending = []

/** Prints the outcome of a request later. `acks` has the numbers and the streams of its appends. */
function later(acks, work) {
  pending.push(
    work.then(
      (results) => {
        for (const [at, [n, name]] of acks.entries()) {
          next.set(name, results[at].seq + 1)
          say(`a ${n} ${results[at].seq}`)
        }
      },
      (error) => {
        if (error.code !== 'ERR_DURLOG_SEQ_CONFLICT') say(`v ${error.stack}`)
        for (const [n, name] of acks) {
          if (error.nextSeq !== undefined) next.set(name, error.nextSeq)
          say(`r ${n}`)
        }
      },
    ),
  )
}

function append() {
  const n = number++
  const name = names[upTo(names.length)]
  const expectedSeq = random() < 0.3 ? (next.get(name) ?? 0) : undefined
  say(`w ${n} ${name} ${expectedSeq ?? -1}`)
  const done = streams.stream(name).append(trialValue(n), { expectedSeq })
  later(
    [[n, name]],
    done.then((result) => [result]),
  )
}

function appendBatch() {
  const count = 2 + upTo(4)
  const first = number
  number += count
  const items = []
  for (let n = first; n < number; n++)
    items.push({ stream: names[upTo(names.length)], value: trialValue(n, [first, count]) })
  if (random() < 0.2) items[0].expectedSeq = next.get(items[0].stream) ?? 0
  for (const [at, { stream, expectedSeq }] of items.entries()) say(`w ${first + at} ${stream} ${expectedSeq ?? -1}`)
  later(
    items.map(({ stream }, at) => [first + at, stream]),
    streams.appendBatch(items),
  )
}

if (follow !== undefined) await Promise.all(names.map((name) => followStream(name, follow[name])))
for (;;) {
  for (let count = 1 + upTo(6); count > 0; count--) append()
  if (random() < 0.3) appendBatch()
  if (random() < 0.6 || pending.length > 64) {
    const all = pending
    pending = []
    await Promise.all(all)
  }
}
