// One of several processes that share a folder of streams. Appends until it is killed, or follows. Prints on stdout:
//   o                      opened
//   w N STREAM EXPECTED    append number N is requested; EXPECTED is its condition or -1; of a batch, one line for each append
//   a N SEQ                it is acknowledged
//   r N                    it was refused by its condition
//   f STREAM SEQ N         a follower has received it
//   v TEXT                 a promise was broken
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

/** `acks`: the numbers and the streams of the appends of one request. */
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
