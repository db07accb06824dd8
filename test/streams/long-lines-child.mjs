// Appends five lines of 300 kB to the stream that all processes of the trial share. A restarted process repeats its
// appends. Prints a line for each acknowledgement.
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
// Waits to be killed. If the process ended by itself, an owner would hand over instead of dying.
setInterval(() => {}, 1000)
