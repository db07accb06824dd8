// The verifier of a folder of streams: every acknowledged append is in its stream once, batches are whole, and the
// files of JSON streams consist of complete lines.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { note } from '../notes.mjs'
import { between, pick, seededRandom } from '../random.mjs'
import { demand, replay, serve, Violation } from '../serve.mjs'
import { append, appendedValue, BYTES, describe, KEPT, LEDGER, openFolder, producerOf } from './folder.mjs'
import { StreamsModel } from './model.mjs'

const APPENDS_AFTER = 5
const seed = Number(process.env.POWERCUT_SEED)

async function openAfterCut(directory, life) {
  try {
    return await openFolder(directory, { seed, life })
  } catch (error) {
    throw new Violation(`openStreams fails: ${error.code}: ${error.message}`)
  }
}

async function checkStream(streams, model, name, stored) {
  const found = []
  const info = await streams.stream(name).info()
  const first = info?.firstSeq ?? 0
  if (info !== undefined) {
    const why = name === KEPT ? model.whyNotFirst(first, info.nextSeq - first) : undefined
    demand(why === undefined, why)
    demand(first === 0 || name === KEPT, `${name} begins at seq ${first}`)
    const wrong = model.whyNotEnded(name, info.ended)
    demand(wrong === undefined, wrong)
    for await (const { seq, value: read } of streams.stream(name).read()) {
      const next = first + found.length
      demand(seq === next, `seq ${seq} of ${name} is read, but ${next} is next`)
      const value = name === BYTES ? JSON.parse(Buffer.from(read).toString()) : read
      const expected = JSON.stringify(appendedValue(seed, value.n))
      demand(JSON.stringify(value) === expected, `record ${seq} of ${name} differs from append ${value.n}`)
      found.push(value.n)
      stored.set(value.n, seq)
    }
  }
  const reason = model.whyNot(name, found, first)
  demand(reason === undefined, reason)
}

function checkFiles(directory) {
  const folder = join(directory, 'streams', 'streams')
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.jsonl'))) {
    const text = readFileSync(join(folder, file), 'utf8')
    for (const line of text.split('\n')) {
      try {
        if (line.trim() !== '') JSON.parse(line)
      } catch {
        throw new Violation(`${file} has the line ${line.slice(0, 100)}`)
      }
    }
  }
}

/**
 * The files of the stream with retention hold its records once. The second checkpoint removes files that the first one
 * drops.
 */
async function checkKept(streams, directory) {
  await streams.checkpoint()
  await streams.checkpoint()
  const info = await streams.stream(KEPT).info()
  const folder = join(directory, 'streams', 'streams')
  const files = readdirSync(folder).filter((file) => file.startsWith(`${KEPT}~`))
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8'))
  const lines = texts
    .join('')
    .split('\n')
    .filter((line) => line.trim() !== '').length
  const count = info === undefined ? 0 : info.nextSeq - info.firstSeq
  demand(lines === count, `${KEPT} has ${count} records, and ${lines} lines in ${files.join(', ')}`)
}

async function check(directory, cut, notes, again) {
  const model = replay(new StreamsModel(), notes, again)
  const random = seededRandom(seed, notes, again.length, 3)
  const streams = await openAfterCut(directory, notes + again.length)
  const { changes } = streams
  const names = []
  try {
    demand(changes.length === 0, `a false report of changes: ${describe(changes)}`)
    checkFiles(directory)
    for await (const { name } of streams.list()) names.push(name)
    const stored = new Map()
    for (const name of new Set([...model.names, ...names])) await checkStream(streams, model, name, stored)
    const reason = model.whyNotBatches(stored) ?? model.whyNotProduced(stored)
    demand(reason === undefined, reason)
    await repeatAppends(streams, model, stored)
    await checkKept(streams, directory)
    await appendAfter(streams, names, cut * 100_000_000 + notes * 1000 + again.length * 10, random)
  } finally {
    await streams.close()
  }
  demand(changes.length === 0, `a false report of changes after appends: ${describe(changes)}`)
  return names.length === 0 ? 'empty' : 'complete'
}

/** Repeats the producer's last appends, as a client that has not received the answers: each is stored once. */
async function repeatAppends(streams, model, stored) {
  const { epoch, numbers } = model.newest ?? { numbers: [] }
  const next = numbers.filter((n) => stored.has(n)).length
  for (let at = Math.max(0, next - 2); at < numbers.length; ++at) {
    const n = numbers[at]
    const was = stored.get(n)
    note(`i ${n} ${LEDGER}`)
    const { seq, duplicate } = await append(streams, seed, n, LEDGER, { producer: producerOf(epoch, at) })
    demand(duplicate === (was !== undefined), `append ${n}, repeated, is a duplicate: ${duplicate}; it was at ${was}`)
    demand(!duplicate || seq === was, `append ${n}, repeated, has seq ${seq} in place of ${was}`)
    note(`a ${n} ${LEDGER} ${seq}`)
  }
}

async function appendAfter(streams, names, first, random) {
  note('o')
  for (let i = 0; i < APPENDS_AFTER; ++i) {
    const n = first + i
    const name = pick(random, [...names.filter((one) => !one.startsWith('end-')), 'a'])
    note(`i ${n} ${name}`)
    const { seq } = await append(streams, seed, n, name)
    note(`a ${n} ${name} ${seq}`)
    if (between(random, 0, 3) === 0) await streams.checkpoint()
  }
}

await serve(check)
