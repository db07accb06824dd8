// Appends five lines of 300 kB to the stream that all processes of the trial share; repeats those of its earlier lives. Prints
// a line for each acknowledgement.
import { openStreams } from '../../dist/streams/index.js'
import { say } from '../fixtures/say.mjs'

const [dir, id] = process.argv.slice(2)
const streams = await openStreams(dir, { checkpointMs: 10 })
for (let seq = 0; seq < 5; seq++) {
  const value = { id, seq, text: String(seq).repeat(300_000) }
  say(`a ${(await streams.stream('shared').append(value, { producer: { id, epoch: 0, seq } })).seq}`)
}
await streams.checkpoint()
say('done')
// Until it is killed: as an owner it would hand over, otherwise.
setInterval(() => {}, 1000)
