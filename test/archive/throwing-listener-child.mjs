// Archives a record with a listener that throws; runs from the built package. Argument: the folder of the log.
import { archive } from '../../dist/archive/index.js'
import { open } from '../../dist/index.js'
import { FakeS3 } from '../fixtures/fake-s3.mjs'

const uncaught = []
process.on('uncaughtException', (error) => uncaught.push(error.message))
const s3 = await new FakeS3().start()
const log = await open(process.argv[2])
const archiver = archive(log, { ...s3.access, flushMs: 60_000 })
archiver.on('archived', () => {
  throw new Error('from a listener')
})
await log.append('a')
await archiver.idle()
const { retries } = archiver.stats()
await archiver.close()
await log.close()
await s3.stop()
console.log(JSON.stringify({ uncaught, retries }))
