/** Environments that end with a log open: worker threads, processes, unreachable objects. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { type OpenOptions, open, type Strategy } from '../src/index.js'
import { randomFrom } from './crash/payload.mjs'
import { codeOf, openUntilDone, scratchDir, texts } from './fixtures/scratch.js'

const RESTLESS = new URL('./fixtures/restless-worker.mjs', import.meta.url)
const CALLING = JSON.stringify(new URL('./fixtures/calling-worker.mjs', import.meta.url).href)
const DURLOG = JSON.stringify(new URL('../dist/index.js', import.meta.url).href)
const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']

const rounds = Number(process.env['DURLOG_WORKER_ROUNDS'] ?? 20)

/** Terminates the worker after it has posted `messages` messages; resolves to the highest seq that it reported. */
async function terminateAfter(worker: Worker, messages: number): Promise<number> {
  let last = -1
  let told = 0
  await new Promise<void>((resolve, reject) => {
    worker.on('error', reject)
    worker.on('message', (message: { acked?: number }) => {
      last = Math.max(last, message.acked ?? -1)
      if (++told >= messages) resolve()
    })
    if (messages === 0) worker.once('online', resolve)
  })
  await worker.terminate()
  return last
}

test.each(STRATEGIES)(
  'a worker may be terminated at any moment of opening, appending, reading and closing (%s)',
  async (strategy) => {
    const random = randomFrom(STRATEGIES.indexOf(strategy) + 1)
    const dir = join(scratchDir(), 'log')
    const options: OpenOptions = { strategy, segmentBytes: 65_536 }
    for (let round = 0; round < Math.ceil(rounds / STRATEGIES.length); round++) {
      const messages = random() < 0.4 ? Math.floor(random() * 4) : Math.floor(random() * 200)
      const last = await terminateAfter(new Worker(RESTLESS, { workerData: { dir, options } }), messages)
      // Another thread finishes the commit that was in flight when the worker ended.
      const log = await openUntilDone(dir, { ...options, waitMs: 30_000 })
      expect(log.nextSeq).toBeGreaterThan(last)
      expect(await texts(log.read())).toHaveLength(log.nextSeq - log.firstSeq)
      await log.append(`after round ${round}`)
      await log.close()
    }
  },
)

/** Returns the output of `script`, which must end by itself with status 0 and an empty stderr. */
function run(script: string, ...flags: string[]): string {
  return execFileSync(
    process.execPath,
    [...flags, '--input-type=module', '-e', `import { open } from ${DURLOG}\n${script}`],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  )
}

test.each(STRATEGIES)(
  'a process that exits without closing its log loses no acknowledged record (%s)',
  async (strategy) => {
    const dir = join(scratchDir(), 'log')
    const options = JSON.stringify({ strategy, segmentBytes: 65_536 })
    run(`
    const log = await open(${JSON.stringify(dir)}, ${options})
    for (let i = 0; i < 20; i++) await log.append('x'.repeat(9000), { durability: i % 2 ? 'sync' : 'memory' })
    for (let i = 0; i < 20; i++) log.write('written')`)
    const log = await openUntilDone(dir)
    expect(log.nextSeq).toBe(40)
    expect(await texts(log.read({ from: 20 }))).toEqual(Array(20).fill('written'))
  },
)

test('a worker may be terminated while promises are pending', () => {
  const dir = join(scratchDir(), 'log')
  const told = run(`
    import { once } from 'node:events'
    import { Worker } from 'node:worker_threads'
    for (let round = 0; round < ${rounds}; round++) {
      const worker = new Worker(new URL(${CALLING}), { execArgv: [], workerData: ${JSON.stringify(dir)} })
      await once(worker, 'message')
      await worker.terminate()
    }
    console.log('lives')`)
  expect(told.trim()).toBe('lives')
})

test('process.exit in the middle of appending ends the process with its code', async () => {
  const dir = join(scratchDir(), 'log')
  const acked = run(`
    const log = await open(${JSON.stringify(dir)}, { segmentBytes: 65536 })
    let acked = -1
    for (let i = 0; i < 500; i++) log.append('x'.repeat(500)).then((seq) => { acked = seq })
    setImmediate(() => setImmediate(() => { console.log(acked); process.exit(0) }))`)
  const log = await openUntilDone(dir)
  expect(log.nextSeq).toBeGreaterThan(Number(acked))
})

test('an unreachable log is collected, and its lock and files are released', () => {
  const dir = join(scratchDir(), 'log')
  const told = run(
    `
    import { setImmediate as turn } from 'node:timers/promises'
    const dir = ${JSON.stringify(dir)}
    const use = async () => { const log = await open(dir); log.write('a'); await log.append('b') }
    for (let round = 0; round < 5; round++) {
      await use()
      let free = false
      for (let turns = 0; turns < 1000 && !free; turns++) {
        gc()
        await turn()
        free = await open(dir).then((log) => log.close()).then(() => true, (error) => {
          if (error.code !== 'ERR_DURLOG_LOCKED') throw error
          return false
        })
      }
      if (!free) { console.log('never collected'); process.exit() }
    }
    console.log('collected')`,
    '--expose-gc',
  )
  expect(told.trim()).toBe('collected')
})

test('a follower gets its next record even if only its own loop refers to it', () => {
  const told = run(
    `
    import { setImmediate as turn } from 'node:timers/promises'
    const dir = ${JSON.stringify(join(scratchDir(), 'log'))}
    const writer = await open(dir)
    await writer.append('first')
    const follow = async (onFirst) => {
      const log = await open(dir, { readOnly: true })
      for await (const { data } of log.read({ follow: true })) {
        console.log(data.toString())
        if (data.toString() === 'second') process.exit()
        onFirst()
      }
    }
    await new Promise((onFirst) => { follow(onFirst) })
    for (let turns = 0; turns < 50; turns++) { gc(); await turn() }
    await writer.append('second')`,
    '--expose-gc',
  )
  expect(told.split('\n').slice(0, 2)).toEqual(['first', 'second'])
})

test('an append settles even if its log is unreachable', () => {
  const told = run(
    `
    const start = async () => { const log = await open(${JSON.stringify(join(scratchDir(), 'log'))}); return [1, 2, 3].map((i) => log.append('x' + i)) }
    const appends = await start()
    const collecting = setInterval(() => gc(), 0)
    console.log((await Promise.all(appends)).join())
    clearInterval(collecting)`,
    '--expose-gc',
  )
  expect(told.trim()).toBe('0,1,2')
})

test('two environments use the addon at once: one writes, the other gets its pid, reads, and outlives it', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openUntilDone(dir, { durability: 'memory' })
  await log.append('from the main thread')
  const script = `
    const { parentPort, workerData } = require('node:worker_threads')
    import(${DURLOG}).then(async ({ open }) => {
      const refused = await open(workerData).catch((error) => error)
      const reader = await open(workerData, { readOnly: true })
      const own = await open(workerData + '-own')
      await own.append('own')
      parentPort.postMessage([refused.code, refused.ownerPid, (await reader.get(0)).data.toString()])
    })`
  const worker = new Worker(script, { eval: true, workerData: dir })
  const told = await new Promise((resolve, reject) => {
    worker.on('message', resolve)
    worker.on('error', reject)
  })
  expect(told).toEqual(['ERR_DURLOG_LOCKED', process.pid, 'from the main thread'])
  await worker.terminate()
  expect(await log.append('goes on')).toBe(1)
  expect(await codeOf(open(`${dir}-own`, { waitMs: 10_000 }).then((own) => own.close()))).toBe('none')
})
