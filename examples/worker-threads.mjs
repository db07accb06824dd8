// Worker threads append to the log that the main thread reads (Linux: a shared log).
//
//   node worker-threads.mjs [DIR]
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { open } from 'durlog'

if (isMainThread) {
  const [dir = './jobs'] = process.argv.slice(2)
  if (dir.startsWith('-')) {
    console.error('usage: node worker-threads.mjs [DIR]')
    process.exit(64)
  }
  const workers = ['a', 'b', 'c'].map(
    (name) => new Worker(fileURLToPath(import.meta.url), { workerData: { dir, name } }),
  )
  await Promise.all(workers.map((worker) => once(worker, 'exit')))
  const log = await open(dir, { readOnly: true, encoding: 'json' })
  for await (const { seq, value } of log.read()) console.log(seq, value.worker, value.step)
  await log.close()
} else {
  const { dir, name } = workerData
  const log = await open(dir, { shared: true, encoding: 'json' })
  for (let step = 0; step < 3; step += 1) await log.append({ worker: name, step })
  await log.close()
}
