// The smoke test of a binary that has just been built or installed: appends at every durability level, a batch,
// rotation, a follower, a reader in a worker, and a second open; of an installed package also its subpaths. Prints "ok"
// and the system. Runs on every system that durlog supports.
//
//   node smoke.cjs <module> <folder>
const assert = require('node:assert')
const { appendFileSync } = require('node:fs')
const { join } = require('node:path')
const { isMainThread, Worker, workerData } = require('node:worker_threads')

const RECORDS = 2000

async function count(log, options) {
  let found = 0
  for await (const { seq, data } of log.read(options)) {
    assert.strictEqual(seq, found)
    assert.ok(data.length > 0)
    found += 1
  }
  return found
}

async function follow(log, records) {
  let found = 0
  for await (const { seq } of log.read({ follow: true })) {
    assert.strictEqual(seq, found)
    found += 1
    if (found === records) return
  }
}

function countInWorker(library, folder) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: { library, folder } })
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

/**
 * Resolves with "ok" and the system that it ran on. `worker`: false in a renderer of Electron, which has no workers.
 */
async function runSmoke(library, folder, { worker = true } = {}) {
  const { open, verify } = require(library)
  const dir = join(folder, 'log')
  const log = await open(dir, { segmentBytes: 65536 })
  const following = follow(log, RECORDS)
  for (const durability of ['memory', 'async', 'sync', 'full']) await log.append(durability, { durability })
  log.appendSync('synchronous')
  log.write('in memory')
  await log.appendBatch(['one', 'two'])
  const waiting = []
  for (let seq = 8; seq < RECORDS; seq += 1) waiting.push(log.append(`record ${seq} ${'x'.repeat(seq % 97)}`))
  await Promise.all(waiting)
  await following
  assert.ok(log.stats().rotations > 0)
  assert.strictEqual(await count(log), RECORDS)
  if (worker) assert.strictEqual(await countInWorker(library, dir), RECORDS)
  await log.close()
  const again = await open(dir)
  assert.strictEqual(again.recovery.state, 'clean')
  assert.strictEqual(await again.append('last'), RECORDS)
  await again.close()
  assert.strictEqual((await verify(dir)).state, 'clean')
  if (library === 'durlog') await trySubpaths(join(folder, 'streams'), worker)
  const { platform, arch, version } = process
  return `ok ${platform} ${arch} ${version}`
}

/**
 * Syncs files of streams, copies one that another program changed, and loads the other subpaths. A folder that is not
 * opened with `exclusive` needs a worker.
 */
async function trySubpaths(dir, worker) {
  const { openStreams } = require('durlog/streams')
  for (const exclusive of worker ? [true, false] : [true]) {
    const streams = await openStreams(dir, { exclusive })
    const { seq } = await streams.stream('session').append({ exclusive })
    assert.strictEqual(seq, exclusive ? 0 : 1)
    await streams.checkpoint()
    const { path } = await streams.stream('session').info()
    await streams.close()
    appendFileSync(path, 'not of durlog')
  }
  for (const subpath of ['http', 'archive', 'jetstream', 'pino'])
    assert.ok(Object.keys(require(`durlog/${subpath}`)).length > 0)
}

async function readInWorker({ library, folder }) {
  const log = await require(library).open(folder, { readOnly: true })
  const found = await count(log)
  await log.close()
  require('node:worker_threads').parentPort.postMessage(found)
}

module.exports = { runSmoke }

if (!isMainThread) {
  if (workerData?.library !== undefined) void readInWorker(workerData)
} else if (require.main === module) {
  runSmoke(process.argv[2], process.argv[3]).then(console.log, (error) => {
    console.error(error)
    process.exitCode = 1
  })
}
