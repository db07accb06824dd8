// Agent session that several processes write and watch at the same time. Any of them may be killed: the others
// continue, and the session is a JSON Lines file with complete lines only.
//
//   node streams-agents.mjs [DIR] [SESSION] [NAME]        then messages on stdin
import { createInterface } from 'node:readline'
import { openStreams } from 'durlog/streams'

const [dir = './sessions', session = 'today', name = 'agent'] = process.argv.slice(2)
if (dir.startsWith('-')) {
  console.error('usage: node streams-agents.mjs [DIR] [SESSION] [NAME]')
  process.exit(64)
}
const sessions = await openStreams(dir)
const chat = sessions.stream(session)
sessions.on('stalled', ({ pid }) => console.error(`process ${pid} does not respond`))

const stopping = new AbortController()
const watching = (async () => {
  for await (const { seq, value } of chat.read({ follow: true, signal: stopping.signal }))
    console.log(`${seq} ${value.from}: ${value.text}`)
})().catch((error) => {
  if (!stopping.signal.aborted) throw error
})

for await (const text of createInterface({ input: process.stdin })) await chat.append({ from: name, text })
stopping.abort()
await watching
await sessions.close()
