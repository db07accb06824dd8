// Event sourcing: a bank account whose balance is rebuilt from the log. Concurrency is optimistic: an append with
// `expectedSeq` is refused if another event came first.
//
//   node event-sourcing.mjs [DIR] [balance | deposit AMOUNT | withdraw AMOUNT]
import { open } from 'durlog'

const [dir = './account', command = 'balance', amount = '0'] = process.argv.slice(2)
if (dir.startsWith('-') || !['balance', 'deposit', 'withdraw'].includes(command) || !(amount >= 0)) {
  console.error('usage: node event-sourcing.mjs [DIR] [balance | deposit AMOUNT | withdraw AMOUNT]')
  process.exit(64)
}
const log = await open(dir, { encoding: 'json', waitMs: 10_000 }) // waits for another command

let balance = 0
for await (const { value } of log.read()) balance += value.type === 'deposit' ? value.amount : -value.amount
const nextSeq = log.nextSeq

if (command === 'withdraw' && balance < Number(amount)) {
  console.log(`refused: the balance is ${balance}`)
} else if (command !== 'balance') {
  const event = { type: command, amount: Number(amount) }
  await log.append(event, { expectedSeq: nextSeq }) // durable, and decided on the state that was read
  balance += command === 'deposit' ? event.amount : -event.amount
}
console.log(`balance ${balance}`)
await log.close()
