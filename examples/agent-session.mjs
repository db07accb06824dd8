// Agent session: a stream of messages that is a JSON Lines file too. Each run continues the session.
//
//   node agent-session.mjs [DIR] [SESSION] [MESSAGE...]
import { openStreams } from 'durlog/streams'

const [dir = './sessions', session = 'user-7/today', ...messages] = process.argv.slice(2)
if (dir.startsWith('-')) {
  console.error('usage: node agent-session.mjs [DIR] [SESSION] [MESSAGE...]')
  process.exit(64)
}
const sessions = await openStreams(dir, { waitMs: 5000 })
const chat = sessions.stream(session)

for (const text of messages) {
  const { seq } = await chat.append({ role: 'user', text }) // settles when the message is on the device
  console.log(`${text} is message ${seq}`)
}

await sessions.checkpoint()
const info = await chat.info()
if (info !== undefined) for await (const { seq, value } of chat.read({ from: -3 })) console.log(`${seq} ${value.text}`)
console.log(info?.path ?? 'no messages yet')
await sessions.close()
