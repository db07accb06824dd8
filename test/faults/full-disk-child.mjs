// Appends to a log until its disk is full, frees space, appends again, and reports the outcome as JSON.

import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { open } from '../../dist/index.js'

const { dir, ballast, options, limit } = JSON.parse(process.argv[2])

const stored = []
const failures = []
let count = 0
const note = (error) => failures.push({ code: error.code, outcome: error.outcome })

async function appendOne(log) {
  const text = `${count++} ${'x'.repeat(9000)}`
  const seq = await log.append(text).catch(note)
  if (Number.isInteger(seq) && failures.length === failuresSeen) stored[seq] = text.split(' ')[0]
  failuresSeen = failures.length
}
let failuresSeen = 0

async function appendMany(log) {
  const texts = Array.from({ length: 30 }, () => `${count++} ${'y'.repeat(5000)}`)
  const outcomes = await Promise.allSettled(texts.map((text) => log.append(text)))
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') stored[outcome.value] = texts[i].split(' ')[0]
    else note(outcome.reason)
  }
  failuresSeen = failures.length
}

async function appendBatch(log) {
  const texts = Array.from({ length: 20 }, () => `${count++} ${'z'.repeat(3000)}`)
  try {
    const { first } = await log.appendBatch(texts)
    for (const [i, text] of texts.entries()) stored[first + i] = text.split(' ')[0]
  } catch (error) {
    note(error)
  }
  failuresSeen = failures.length
}

function makeRoom() {
  if (ballast) rmSync(ballast)
  if (limit) execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited:unlimited'])
  else execFileSync('sync', ['-f', dir])
}

const log = await open(dir, options)
for (let i = 0; i < 2000 && failures.length < 12; i++) {
  await appendOne(log)
  if (i % 7 === 3) await appendMany(log)
  if (i % 7 === 5) await appendBatch(log)
}
const refused = failures.length
const mode = log.stats().mode
makeRoom()
for (let i = 0; i < 30; i++) {
  await appendOne(log)
  await appendBatch(log)
}
const read = []
for await (const { data } of log.read()) read.push(data.toString().split(' ')[0])
await log.close()
console.log(JSON.stringify({ refused, afterwards: failures.length - refused, failures, stored, read, mode }))
