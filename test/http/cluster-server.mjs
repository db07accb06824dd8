// A cluster whose workers serve one folder of streams. A worker that ends is replaced. Arguments: the folder, and the
// number of workers. Prints the port when all workers listen.
import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { streamsHandler } = require('../../dist/http/index.js')
const { openStreams } = require('../../dist/streams/index.js')

const [dir, workers] = process.argv.slice(2)
// By default the primary process passes connections to workers, and a connection for a killed worker gets no answer.
cluster.schedulingPolicy = cluster.SCHED_NONE
if (cluster.isPrimary) {
  let listening = 0
  cluster.on('listening', (_worker, { port }) => {
    if (++listening === Number(workers)) process.stdout.write(`${port}\n`)
  })
  cluster.on('exit', () => cluster.fork())
  for (let at = 0; at < Number(workers); at++) cluster.fork()
} else {
  const streams = await openStreams(dir, { checkpointMs: 20 })
  const handler = streamsHandler(streams)
  const server = createServer((request, response) => {
    response.setHeader('x-worker', process.pid)
    response.setHeader('x-owner', streams.ownerPid)
    handler(request, response)
  })
  server.listen(0, '127.0.0.1')
}
