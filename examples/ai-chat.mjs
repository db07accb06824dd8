// A chat in the browser whose answers survive a reload and a restart of the server. An answer is generated token by
// token into a stream, which the page follows with the official client of the protocol.
//
//   npm install @durable-streams/client
//   node ai-chat.mjs [DIR] [PORT] [MILLISECONDS OF A TOKEN]      then open http://localhost:PORT/#my-chat
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { streamsHandler } from 'durlog/http'
import { openStreams } from 'durlog/streams'

const [dir = './chats', port = '8080', tokenMs = '100'] = process.argv.slice(2)
if (dir.startsWith('-') || !(port >= 0) || !(tokenMs >= 0)) {
  console.error('usage: node ai-chat.mjs [DIR] [PORT] [MILLISECONDS OF A TOKEN]')
  process.exit(64)
}
const streams = await openStreams(dir, { exclusive: true, waitMs: 10_000 }) // a predecessor may still be shutting down
// Pages create and read chats; only the server writes to them.
const chats = streamsHandler(streams, { prefix: '/chats/', authorize: () => ({ read: true, create: true }) })
const client = await readFile(new URL(import.meta.resolve('@durable-streams/client')))

/** In place of a model: continues the answer to `prompt` after `begun`. */
async function* generate(prompt, begun) {
  const answer = `You wrote “${prompt}”. This answer is stored word by word, so that nothing of it is lost and nothing comes twice.`
  for (const word of answer.slice(begun.length).match(/\S+\s*/g) ?? []) {
    await setTimeout(Number(tokenMs))
    yield word
  }
}

/** Chats whose last message is being answered. */
const busy = new Set()

/** Answers the last message of a chat, or completes its answer after a restart. */
async function answer(chat) {
  let [prompt, begun] = [undefined, '']
  for await (const { value } of chat.read()) {
    if (value.role === 'user') [prompt, begun] = [value.text, '']
    else if (value.role === 'end') prompt = undefined
    else begun += value.text
  }
  if (prompt !== undefined) {
    for await (const token of generate(prompt, begun)) await chat.append({ role: 'assistant', text: token })
    await chat.append({ role: 'end' })
  }
}

/** Runs `work` unless a message of the chat is being answered: two answers would be mixed in one stream. */
async function alone(chat, work) {
  if (busy.has(chat.name)) return false
  busy.add(chat.name)
  await work().finally(() => busy.delete(chat.name))
  return true
}

const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Chat</title>
<main style="white-space:pre-wrap"></main><form><input name="text" aria-label="Message"><button>Send</button></form>
<script type="module">
import { stream } from '/client.js'
const chat = encodeURIComponent(location.hash.slice(1) || 'chat')
document.forms[0].onsubmit = (event) => {
  event.preventDefault()
  fetch('/say/' + chat, { method: 'POST', body: event.target.text.value }).then(() => event.target.reset())
}
await fetch('/chats/' + chat, { method: 'PUT', headers: { 'content-type': 'application/json' } })
const chatStream = await stream({ url: location.origin + '/chats/' + chat, offset: '-1', live: 'long-poll' })
chatStream.subscribeJson(({ items }) => {
  for (const { role, text } of items) document.querySelector('main').append(role === 'assistant' ? text : role === 'user' ? '> ' + text + '\\n' : '\\n')
})
</script></html>`

const server = createServer(async (request, response) => {
  const [, route, name] = request.url.split('/')
  if (route === 'chats') return chats(request, response)
  if (route === 'client.js') return response.setHeader('content-type', 'text/javascript').end(client)
  if (route !== 'say') return response.setHeader('content-type', 'text/html').end(page)
  const chat = streams.stream(decodeURIComponent(name))
  const message = await text(request)
  const isAnswered = await alone(chat, async () => {
    await chat.append({ role: 'user', text: message })
    response.end()
    await answer(chat)
  })
  if (!isAnswered) response.writeHead(409).end()
})
server.listen(Number(port), () => console.log(`listening on ${server.address().port}`))
for await (const { name } of streams.list()) {
  const chat = streams.stream(name)
  void alone(chat, () => answer(chat))
}
