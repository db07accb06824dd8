// Closes a folder of streams while this process becomes its owner in a thread, with the built package. Argument: the
// folder. Prints 'released' if the process can then open it alone.
import { openStreams } from '../../dist/streams/index.js'
import { OwnerHost } from '../../dist/streams/processes/owner-host.js'

const [, , dir] = process.argv
const client = '0123456789abcdef'
const host = new OwnerHost(dir, { durability: 'sync' })
// As a client that has had another owner.
host.prepare()
const owning = host.becomeOwner(client, performance.now(), 0, undefined)
await host.close(client)
await owning.catch(() => {})
await openStreams(dir, { exclusive: true }).then((streams) => streams.close())
console.log('released')
