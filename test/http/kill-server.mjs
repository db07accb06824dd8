// A server that kills itself when it has synced an append and not answered it. Arguments: the folder; the number of
// answers to POST that it sends before, or -1 for no limit; the port.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { streamsHandler } = require('../../dist/http/index.js')
const { openStreams } = require('../../dist/streams/index.js')

const [dir, answers] = process.argv.slice(2)
let left = Number(answers)
const handler = streamsHandler(await openStreams(dir, { checkpointMs: 20, exclusive: true }), { longPollMs: 1000 })
const server = createServer((request, response) => {
  if (request.method === 'POST') {
    const { writeHead } = response
    // The record is synced, and the answer is about to be written.
    response.writeHead = (...given) => {
      if (left-- === 0) process.kill(process.pid, 'SIGKILL')
      return Reflect.apply(writeHead, response, given)
    }
  }
  handler(request, response)
})
server.listen(Number(process.argv[4] ?? 0), '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
