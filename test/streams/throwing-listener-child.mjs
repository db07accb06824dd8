// Makes checkpoints with a listener that throws, with the built package. Arguments: the folder, whether it is
// exclusive.
import { openStreams } from '../../dist/streams/index.js'

const lines = []
process.on('uncaughtException', (error) => lines.push(`uncaught: ${error.message}`))
const streams = await openStreams(process.argv[2], { exclusive: process.argv[3] === 'true', checkpointMs: 3_600_000 })
streams.on('checkpoint', () => {
  throw new Error('from a listener')
})
streams.on('checkpointFailed', (error) => lines.push(`failed: ${error.message}`))
for (let i = 0; i < 2; i++) {
  const { seq } = await streams.stream('s').append(i)
  await streams.checkpoint()
  lines.push(`stored ${seq}`)
}
await streams.close()
console.log(lines.join('\n'))
