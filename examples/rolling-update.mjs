// Rolling update: a service that is ready before it has the log. The new process starts while the old one still writes,
// and its first requests wait until the old one has closed the log.
//
//   node rolling-update.mjs DIR PORT
import { createServer } from 'node:http'
import { open } from 'durlog'

const [dir, port] = process.argv.slice(2)
if (!(port >= 0)) {
  console.error('usage: node rolling-update.mjs DIR PORT')
  process.exit(64)
}

// A deployer stops the old process when this one is ready. If it had to open the log first, both would wait for ever.
const opened = open(dir, { waitMs: 60_000 })
opened.catch((error) => {
  console.error(error.message)
  process.exit(1)
})

const server = createServer(async (request, response) => {
  if (request.url === '/ready') return response.end('ready\n')
  try {
    const log = await opened
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const seq = await log.append(Buffer.concat(chunks))
    // A connection that a client or a proxy keeps open would delay the end of this process by seconds.
    if (!server.listening) response.setHeader('connection', 'close')
    response.end(`${seq}\n`)
  } catch (error) {
    response.writeHead(500).end(`${error.message}\n`)
  }
})
server.listen(Number(port), () => console.log(`listening on ${server.address().port}`))

process.once('SIGTERM', () => {
  // `close` calls back when the requests in flight have been answered. Then the log is free for the next process.
  server.close(async () => {
    await (await opened).close()
    process.exit(0)
  })
  server.closeIdleConnections()
})
