// Logging: a service that logs through pino and loses no line at shutdown. A line is in the memory of the kernel when
// logger.info() returns, so even kill -9 does not lose it.
//
//   npm install pino
//   node pino-service.mjs DIR
import { createServer } from 'node:http'
import { destination } from 'durlog/pino'
import pino from 'pino'

const stream = await destination({ dir: process.argv[2] ?? './service-log' })
const logger = pino(stream)

const server = createServer((request, response) => {
  logger.info({ path: request.url }, 'request')
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
