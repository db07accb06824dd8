// Logging: a service that logs through pino and loses no line at shutdown. A line is in the memory of the kernel when
// logger.info() returns, so even kill -9 does not lose it.
//
//   npm install pino
//   node pino-service.mjs [DIR]
import { createServer } from 'node:http'
import { destination } from 'durlog/pino'
import pino from 'pino'

const [dir = './service-log'] = process.argv.slice(2)
if (dir.startsWith('-')) {
  console.error('usage: node pino-service.mjs [DIR]')
  process.exit(64)
}

const stream = await destination({ dir })
const logger = pino(stream)

const server = createServer((request, response) => {
  logger.info({ path: request.url }, 'request')
  if (!server.listening) response.setHeader('connection', 'close') // the process can end
  response.end('ok\n')
})
server.listen(0, () => logger.info({ port: server.address().port }, 'listening'))

process.once('SIGTERM', () => {
  server.close(async () => {
    logger.info('stopped')
    await stream.close() // every line is on the device
  })
  server.closeIdleConnections()
})
