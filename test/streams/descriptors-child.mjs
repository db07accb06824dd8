// Reads and makes a checkpoint without a free file descriptor, with the built package. Prints the codes of the errors.
import { closeSync, openSync } from 'node:fs'
import { openStreams } from '../../dist/streams/index.js'

async function codeOf(work) {
  try {
    await work()
    return 'none'
  } catch ({ code }) {
    return code
  }
}

const [, , dir, exclusive] = process.argv
const streams = await openStreams(dir, { exclusive: exclusive === 'true', checkpointMs: 3_600_000 })
const read = async () => {
  for await (const { value } of streams.stream('s').read()) if (value !== 1) throw new Error(value)
}
await streams.stream('s').append(1)
await streams.checkpoint()
const taken = []
const takeAll = () => {
  for (;;) {
    try {
      taken.push(openSync(dir, 'r'))
    } catch {
      return
    }
  }
}
takeAll()
console.log(await codeOf(read))
await streams.stream('t').append(1)
console.log(await codeOf(() => streams.checkpoint()))
console.log(await codeOf(() => openStreams(`${dir}-2`, { exclusive: true })))
for (const fd of taken) closeSync(fd)
console.log(await codeOf(read), await codeOf(() => streams.checkpoint()))
await streams.close()
