// Agent session: a stream of messages that is a JSON Lines file too. A retried message is stored once.
//
//   node agent-session.mjs DIR SESSION MESSAGE...
import { openStreams } from 'durlog/streams'

const [dir = './sessions', session = 'user-7/today', ...messages] = process.argv.slice(2)
const sessions = await openStreams(dir, { waitMs: 5000 })
const chat = sessions.stream(session)

const known = (await chat.info())?.nextSeq ?? 0
for (const [index, text] of messages.entries()) {
  // Run again after a crash with the same messages, it stores only those that are missing.
  const producer = { id: 'cli', epoch: 0, seq: index }
  const { seq, duplicate } = await chat.append({ role: 'user', text }, { producer })
  console.log(duplicate ? `${text} is message ${seq} already` : `${text} is message ${seq}`)
}

await sessions.checkpoint()
for await (const { seq, value } of chat.read({ from: known })) console.log(`new: ${seq} ${value.text}`)
console.log((await chat.info())?.path ?? 'no messages yet')
await sessions.close()
