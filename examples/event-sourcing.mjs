// Event sourcing: a bank account whose balance is rebuilt from the log. Concurrency is optimistic: an append with
// `expectedSeq` is refused if another event came first.
//
//   node event-sourcing.mjs DIR deposit 10
import { open } from 'durlog'

const [dir = './account', command = 'balance', amount = '0'] = process.argv.slice(2)
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
