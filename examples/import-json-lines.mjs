// Imports a JSON Lines file. Each line becomes a record; a line that is not valid JSON is reported and left out. An
// import that was interrupted continues after the last line it stored.
//
//   node import-json-lines.mjs DIR FILE
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { open } from 'durlog'

const [dir = './imported', file = 'messages.jsonl'] = process.argv.slice(2)
const log = await open(dir, { encoding: 'json' })
let done = 0
if (log.nextSeq > 0) done = (await log.get(log.nextSeq - 1)).value.line

let line = 0
let batch = []
for await (const text of createInterface({ input: createReadStream(file) })) {
  line += 1
  if (line <= done || text.trim() === '') continue
  try {
    batch.push({ line, value: JSON.parse(text) })
  } catch {
    console.error(`${file}:${line}: not valid JSON`)
  }
  if (batch.length < 1000) continue
  await log.appendBatch(batch)
  batch = []
}
if (batch.length > 0) await log.appendBatch(batch)
console.log(`${log.nextSeq} records`)
await log.close()
