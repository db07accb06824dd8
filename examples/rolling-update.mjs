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

/** After SIGTERM, requests are answered until none has arrived for `GRACE_MS`, at the latest after `MAX_GRACE_MS`. */
const GRACE_MS = 500
const MAX_GRACE_MS = 3000
let grace
let latestMs

const answer = (response, status, text) => {
  // A client whose connection this process closed while a request was on its way would lose that request.
  if (grace !== undefined) response.setHeader('connection', 'close')
  response.writeHead(status).end(`${text}\n`)
}

const server = createServer(async (request, response) => {
  if (Date.now() < latestMs) grace.refresh()
  if (request.url === '/ready') return answer(response, 200, 'ready')
  try {
    const log = await opened
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    answer(response, 200, await log.append(Buffer.concat(chunks)))
  } catch (error) {
    answer(response, 500, error.message)
  }
})
server.listen(Number(port), () => console.log(`listening on ${server.address().port}`))

process.once('SIGTERM', () => {
  latestMs = Date.now() + MAX_GRACE_MS
  grace = setTimeout(() => {
    latestMs = 0
    // `close` calls back when the requests in flight have been answered. Then the log is free for the next process.
    server.close(async () => {
      await (await opened).close()
      process.exit(0)
    })
  }, GRACE_MS)
})
