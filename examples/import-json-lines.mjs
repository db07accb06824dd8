// Imports a JSON Lines file. Each line becomes a record; a line that is not valid JSON is reported and left out. An
// import that was interrupted, or whose file has grown, continues after the last line of this file that is stored.
// Other files can be imported into the same log.
//
//   node import-json-lines.mjs DIR FILE
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { open } from 'durlog'

const [dir, name] = process.argv.slice(2)
if (name === undefined) {
  console.error('usage: node import-json-lines.mjs DIR FILE')
  process.exit(64)
}
const file = resolve(name)
const log = await open(dir, { encoding: 'json', waitMs: 10_000 })
let last
for await (const { value } of log.read()) if (value.file === file) last = value

/** Whether the last stored line is at its place in the file. If it is not, this is another file with the same name. */
let isKnown = last === undefined
let line = 0
let batch = []
for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
  line += 1
  if (text.trim() === '') continue
  let value
  try {
    value = JSON.parse(text)
  } catch {
    if (line > (last?.line ?? 0)) console.error(`${name}:${line}: not valid JSON`)
    continue
  }
  if (line === last?.line) isKnown = JSON.stringify(value) === JSON.stringify(last.value)
  if (line <= (last?.line ?? 0)) continue
  if (!isKnown) break
  batch.push({ file, line, value })
  if (batch.length < 1000) continue
  await log.appendBatch(batch)
  batch = []
}
if (!isKnown) throw new Error(`${name} is not the file that was imported before: rename it to import it too`)
if (batch.length > 0) await log.appendBatch(batch)
console.log(`${log.nextSeq} records`)
await log.close()
