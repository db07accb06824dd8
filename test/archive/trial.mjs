/**
 * A writer, two archivers and a store, each in a separate process that is killed repeatedly. In the end a restore has
 * the contents of the log: every record once, in order, with its time, byte for byte; and no object was replaced.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { open } from 'durlog'
import { archive, restoreArchive } from 'durlog/archive'
import { RestartedChild } from '../fixtures/restarted-child.mjs'
import { freePorts, RealStore } from '../fixtures/s3-stores.mjs'

const path = (name) => fileURLToPath(new URL(name, import.meta.url))
const FAKE_KEYS = { accessKeyId: 'key', secretAccessKey: 'secret' }

/** The store of the tests in a process that keeps its objects in files. */
async function startFake(dir) {
  const [port] = await freePorts(1)
  const child = new RestartedChild(path('../fixtures/fake-s3.mjs'), () => [String(port), dir])
  child.access = { bucket: 's3://bucket/test', endpoint: `http://127.0.0.1:${port}`, credentials: FAKE_KEYS }
  return child.start()
}

/** Of every record: seq, time and bytes. */
async function digestOf(dir) {
  const log = await open(dir, { readOnly: true })
  const hash = createHash('sha256')
  let records = 0
  for await (const { seq, timestamp, data } of log.read()) {
    hash.update(`${seq} ${timestamp} `).update(data)
    records++
  }
  await log.close()
  return { records, sha256: hash.digest('hex') }
}

/** `random()` is 0 to below 1. */
export async function runTrial(dir, { records, kills, store: storeName, random = Math.random }) {
  const store = storeName === 'fake' ? await startFake(join(dir, 'store')) : await RealStore.start(storeName, dir)
  const children = { store }
  try {
    return await run(dir, children, { records, kills, random })
  } finally {
    // A trial that failed must not leave processes.
    await Promise.allSettled(Object.values(children).map((child) => child.kill()))
  }
}

async function run(dir, children, { records, kills, random }) {
  const { store } = children
  const log = join(dir, 'log')
  let synced = -1
  const writer = new RestartedChild(
    path('../ship/writer.mjs'),
    (life) => [log, String(life)],
    (word, rest) => {
      if (word === 'synced') synced = Math.max(synced, Number(rest))
      if (word === 'refused') throw new Error(`an append was refused: ${rest}`)
    },
  ).start()
  children.writer = writer
  while (!existsSync(join(log, 'live'))) await wait(20)
  const [first, second] = ['first', 'second'].map((cursor) =>
    new RestartedChild(path('./archiver.mjs'), () => [log, cursor, JSON.stringify(store.access)]).start(),
  )
  Object.assign(children, { first, second })
  const killed = { writer: 0, archiver: 0, store: 0 }
  for (let kill = 0; kill <= kills; kill++) {
    const target = Math.ceil((records * (kill + 1)) / (kills + 1))
    writer.process.stdin.write(`${target}\n`)
    while (synced < target - 1) {
      await wait(20)
      writer.process.stdin.write(`${target}\n`)
    }
    if (kill === kills) break
    writer.process.stdin.write(`${Math.ceil((records * (kill + 2)) / (kills + 1))}\n`)
    await wait(random() * 300)
    const victim = ['writer', 'archiver', 'store'][Math.floor(random() * 3)]
    killed[victim]++
    const child = victim === 'archiver' ? [first, second][Math.floor(random() * 2)] : children[victim]
    await child.kill()
    await child.start()
  }
  for (const child of [writer, first, second]) await child.kill()
  // Without a writer, the last records are not known to be synced.
  const source = await open(log)
  const last = archive(source, { ...store.access, cursor: 'first' })
  await last.idle()
  await last.close()
  await source.close()
  const copy = join(dir, 'restored')
  const started = performance.now()
  await restoreArchive(copy, store.access)
  const restoreMs = performance.now() - started
  const [expected, found] = [await digestOf(log), await digestOf(copy)]
  const overwritten = join(dir, 'store', 'overwritten')
  return {
    killed,
    expected,
    found,
    restoreMs,
    overwritten: existsSync(overwritten) ? readFileSync(overwritten, 'utf8').split('\n').filter(Boolean) : [],
  }
}
