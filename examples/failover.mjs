// Shows that killing a server loses no acknowledged order. Starts a nats-server and two servers of streams, of which
// the second one takes over; a client repeats each order until a server has acknowledged it.
//
//   npm install @nats-io/jetstream @nats-io/transport-node
//   node failover.mjs                      nats-server is in PATH, or NATS_SERVER names it
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { serveStreams } from 'durlog/http'
import { jetstream, takeOver } from 'durlog/jetstream'
import { openStreams } from 'durlog/streams'

const ORDERS = 100
const stream = 'FAILOVER'

/** A server: answers a request only when the broker has its records too. */
async function serve(dir, servers) {
  const replicate = jetstream({ servers, stream })
  const streams = await openStreams(dir, { exclusive: true, replicate, durability: 'replicated' })
  const { url } = await serveStreams(streams, { port: 0 })
  console.log(url)
}

async function main() {
  const dir = mkdtempSync(join(tmpdir(), 'durlog-failover-'))
  const children = []
  const start = (command, args) => {
    // The broker logs to stderr.
    const stdio = ['ignore', 'pipe', command === process.execPath ? 'inherit' : 'ignore']
    const child = spawn(command, args, { stdio })
    children.push(child)
    return child
  }
  try {
    const servers = await startBroker(dir, start)
    const startServer = async (name) => {
      const child = start(process.execPath, [fileURLToPath(import.meta.url), 'serve', join(dir, name), servers])
      const [url] = await once(createInterface({ input: child.stdout }), 'line')
      return { child, url }
    }

    const first = await startServer('first')
    let { url } = first
    await fetch(`${url}/orders`, { method: 'PUT', headers: { 'content-type': 'application/json' } })
    const acknowledged = []
    for (let order = 0; order < ORDERS; order++) {
      const answered = append(() => url, order)
      if (order === ORDERS / 2) {
        first.child.kill('SIGKILL') // its answer to this order may be lost
        console.log(`the first server has acknowledged ${acknowledged.length} orders, and is killed`)
        const { generation } = await takeOver(join(dir, 'second'), { servers, stream })
        url = (await startServer('second')).url
        console.log(`the second server is the writer of generation ${generation}`)
      }
      await answered
      acknowledged.push(order)
    }

    const stored = await (await fetch(`${url}/orders?offset=-1`)).json()
    const lost = acknowledged.filter((order) => !stored.includes(order)).length
    const twice = stored.length - new Set(stored).size
    console.log(`acknowledged ${acknowledged.length}, stored ${stored.length}, lost ${lost}, stored twice ${twice}`)
  } finally {
    for (const child of children) child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Sends the order until a server acknowledges it. The producer's number makes the repetitions one record. */
async function append(url, order) {
  const headers = { 'content-type': 'application/json', 'producer-id': 'shop', 'producer-epoch': '0' }
  const request = { method: 'POST', headers: { ...headers, 'producer-seq': `${order}` }, body: JSON.stringify([order]) }
  for (;;) {
    const answer = await fetch(`${url()}/orders`, request).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function startBroker(dir, start) {
  const config = join(dir, 'nats.conf')
  writeFileSync(config, `listen: "127.0.0.1:-1"\njetstream { store_dir: "${dir}/nats", sync_interval: always }\n`)
  const broker = start(process.env.NATS_SERVER ?? 'nats-server', ['-c', config, '--ports_file_dir', dir])
  let failed
  broker.once('error', (error) => (failed = error))
  for (;;) {
    const found = readdirSync(dir).find((name) => name.endsWith('.ports'))
    if (found !== undefined) return JSON.parse(readFileSync(join(dir, found), 'utf8')).nats[0]
    if (failed !== undefined || broker.exitCode !== null)
      throw new Error('nats-server does not run: install it, or name it with NATS_SERVER', { cause: failed })
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const [role, ...options] = process.argv.slice(2)
if (role === 'serve') await serve(...options)
else if (role === undefined) await main()
else {
  console.error('usage: node failover.mjs')
  process.exit(64)
}
