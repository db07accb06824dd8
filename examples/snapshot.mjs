// Snapshot: balances that are rebuilt from a log without reading all of it at each start. If records that the snapshot
// covers were cut or replaced, it is useless, which `isCurrent` detects.
//
//   node snapshot.mjs DIR NAME AMOUNT
import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { open } from 'durlog'

const [dir, name, amount] = process.argv.slice(2)
if (Number.isNaN(Number(amount))) {
  console.error('usage: node snapshot.mjs DIR NAME AMOUNT')
  process.exit(64)
}
const file = `${dir}.snapshot.json`

function readSnapshot() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

const log = await open(dir, { encoding: 'json', waitMs: 10_000 }) // waits for another run
// Taken before the records are read: if the log is cut meanwhile, the snapshot is not current.
const { uuid, generation } = log
const found = readSnapshot()
const usable = found !== undefined && (await log.isCurrent(found)) && found.seq + 1 >= log.firstSeq
const state = usable ? found : { seq: log.firstSeq - 1, balances: {} }

function apply({ seq, value }) {
  state.balances[value.name] = (state.balances[value.name] ?? 0) + value.amount
  state.seq = seq
}

let replayed = 0
for await (const record of log.read({ from: state.seq + 1 })) {
  apply(record)
  replayed++
}

const value = { name, amount: Number(amount) }
apply({ seq: await log.append(value, { durability: 'memory' }), value })

// Only synced records belong in a snapshot: a power cut may remove others, and later records get their seqs.
await log.sync()
const checksum = await log.checksum(state.seq)
await writeFile(`${file}.new`, JSON.stringify({ ...state, uuid, generation, checksum }), { flush: true })
await rename(`${file}.new`, file)
await log.close()
console.log(`replayed ${replayed} records: ${JSON.stringify(state.balances)}`)
