// Streams a log to browsers as server-sent events. A browser that reconnects sends the id of its last event, so it
// misses nothing and gets nothing twice.
//
//   node server-sent-events.mjs [DIR] [PORT]      then: new EventSource('http://localhost:PORT/')
import { createServer } from 'node:http'
import { open } from 'durlog'

const [dir = './events', port = '8080'] = process.argv.slice(2)
if (dir.startsWith('-') || !(port >= 0)) {
  console.error('usage: node server-sent-events.mjs [DIR] [PORT]')
  process.exit(64)
}
const log = await open(dir, { readOnly: true })

const server = createServer(async (request, response) => {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const lastId = Number(request.headers['last-event-id'] ?? -1)
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  try {
    const reader = log.read({ from: lastId + 1, follow: true, durableOnly: true, signal: gone.signal })
    for await (const { seq, data } of reader) {
      const lines = data.toString().split('\n')
      const accepted = response.write(`id: ${seq}\n${lines.map((line) => `data: ${line}\n`).join('')}\n`)
      if (!accepted) await new Promise((resolve) => response.once('drain', resolve).once('close', resolve))
    }
  } catch (error) {
    if (!gone.signal.aborted) response.destroy(error)
  }
})
server.listen(Number(port), () => console.log(`listening on ${server.address().port}`))
process.once('SIGTERM', () => {
  server.close(() => log.close())
  server.closeAllConnections()
})
