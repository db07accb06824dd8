// A chat of TanStack AI whose messages are in a stream: clients may connect late or again. The server's half
// stores the chunks of the model, the client's half follows them.
//
//   npm install @durable-streams/tanstack-ai-transport
//   node tanstack-chat.mjs [DIR]
import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import {
  durableStreamConnection,
  materializeSnapshotFromDurableStream,
  toDurableChatSessionResponse,
} from '@durable-streams/tanstack-ai-transport'
import { streamsHandler } from 'durlog/http'
import { openStreams } from 'durlog/streams'

const [dir = './chats'] = process.argv.slice(2)
if (dir.startsWith('-')) {
  console.error('usage: node tanstack-chat.mjs [DIR]')
  process.exit(64)
}

const streams = await openStreams(dir, { exclusive: true })
const chats = streamsHandler(streams, { prefix: '/chats/' })

/** The chunks of a model: in an application, those of chat() of @tanstack/ai. */
async function* model(prompt) {
  const message = { messageId: `answer-${prompt.id}`, role: 'assistant', timestamp: Date.now() }
  yield { type: 'TEXT_MESSAGE_START', ...message }
  for (const delta of ['You ', 'wrote ', prompt.parts[0].content])
    yield { type: 'TEXT_MESSAGE_CONTENT', ...message, delta }
  yield { type: 'TEXT_MESSAGE_END', ...message }
}

const server = createServer(async (request, response) => {
  if (request.url !== '/say') return chats(request, response)
  const { messages } = await json(request)
  const prompt = messages.at(-1)
  const stream = { writeUrl: `${origin}/chats/7`, createIfMissing: true }
  const answer = await toDurableChatSessionResponse({ stream, newMessages: [prompt], responseStream: model(prompt) })
  response.writeHead(answer.status).end()
})
await once(server.listen(0, '127.0.0.1'), 'listening')
const origin = `http://127.0.0.1:${server.address().port}`

// In an application this is the browser: useChat({ connection }) of @tanstack/ai-react.
const connection = durableStreamConnection({
  sendUrl: `${origin}/say`,
  readUrl: `${origin}/chats/7`,
  emitSnapshotOnSubscribe: false, // earlier chunks arrive as they were
})
const id = `message-${Date.now()}`
await connection.send([{ id, role: 'user', parts: [{ type: 'text', content: 'hello' }] }])
let answer = ''
for await (const { type, messageId, delta } of connection.subscribe()) {
  if (type === 'TEXT_MESSAGE_CONTENT' && messageId === `answer-${id}`) answer += delta
  if (type === 'TEXT_MESSAGE_END' && messageId === `answer-${id}`) break
}
console.log(answer)
const { messages } = await materializeSnapshotFromDurableStream({ readUrl: `${origin}/chats/7` })
for (const { role, parts } of messages) console.log(`${role}: ${parts[0].content}`)
await chats.close()
server.close(() => streams.close())
server.closeAllConnections()
