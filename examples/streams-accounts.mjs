// Bank accounts as event-sourced aggregates, a stream each. Several processes may work on one account: an append with
// `expectedSeq` is refused if another event came first, and the command is then decided again.
//
//   node streams-accounts.mjs [DIR]        then on stdin: deposit alice 10, withdraw alice 4
import { createInterface } from 'node:readline'
import { openStreams } from 'durlog/streams'

const [dir = './accounts'] = process.argv.slice(2)
if (dir.startsWith('-')) {
  console.error('usage: node streams-accounts.mjs [DIR]')
  process.exit(64)
}
const accounts = await openStreams(dir)

/** The state of an account, and how many events it is made of. */
async function load(stream) {
  const state = { balance: 0, events: 0 }
  if ((await stream.info()) === undefined) return state
  for await (const { value, seq } of stream.read()) {
    state.balance += value.type === 'deposit' ? value.amount : -value.amount
    state.events = seq + 1
  }
  return state
}

async function execute(type, id, amount) {
  const stream = accounts.stream(`account/${id}`)
  for (;;) {
    const { balance, events } = await load(stream)
    if (type === 'withdraw' && balance < amount) return `refused: ${id} has ${balance}`
    try {
      const { seq } = await stream.append({ type, amount }, { expectedSeq: events })
      return `event ${seq}: ${id} has ${type === 'deposit' ? balance + amount : balance - amount}`
    } catch (error) {
      if (error.code !== 'ERR_DURLOG_SEQ_CONFLICT') throw error
    }
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [, type, id, amount] = /^(deposit|withdraw) (\S+) (\d+)$/.exec(line) ?? []
  // An event cannot be changed: a wrong one would be part of every balance.
  console.log(
    type === undefined ? 'deposit NAME AMOUNT, or withdraw NAME AMOUNT' : await execute(type, id, Number(amount)),
  )
}
await accounts.close()
