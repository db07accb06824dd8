// Measures the JavaScript heap that remains after reads, cursors and opens. Its child mode is also a program of
// test/heap.test.ts.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { open } from 'durlog'
import { withScratch } from '../dist/harness/scratch.js'

const PROGRAM = fileURLToPath(import.meta.url)
const OPTIONS = { segmentBytes: 65_536, preallocate: 'none', durability: 'memory' }
/** The number of calls before the heap is first measured, so that their code is compiled. */
const WARM_UP = 200
const KINDS = {
  reads: { count: 100_000, title: '100,000 iterated reads' },
  cursors: { count: 10_000, title: '10,000 cursors' },
  opens: { count: 10_000, title: '10,000 opens' },
  'shared-opens': { count: 1_000, title: '1,000 opens of a shared log' },
  'read-only-opens': { count: 10_000, title: '10,000 opens for reading' },
}

async function calls(dir) {
  const log = await open(join(dir, 'log'), OPTIONS)
  await log.appendBatch(['a', 'b', 'c'])
  const openAndClose = (name, options) => async () => (await open(join(dir, name), options)).close()
  return {
    log,
    reads: async () => {
      for await (const record of log.read({ from: 2 })) if (record.seq === 2) break
    },
    cursors: async () => (await log.cursor('cursor')).close(),
    opens: openAndClose('other', OPTIONS),
    'shared-opens': openAndClose('shared', { ...OPTIONS, preallocate: 'auto', shared: true }),
    'read-only-opens': openAndClose('log', { readOnly: true }),
  }
}

async function usedHeap() {
  for (let i = 0; i < 4; i += 1) {
    globalThis.gc()
    await turn()
  }
  return process.memoryUsage().heapUsed
}

/** Prints the growth of the heap, in bytes, by `count` calls. */
async function printGrowth(dir, kind, count) {
  const { log, [kind]: call } = await calls(dir)
  for (let i = 0; i < WARM_UP; i += 1) await call()
  const before = await usedHeap()
  for (let i = 0; i < count; i += 1) await call()
  console.log((await usedHeap()) - before)
  await log.close()
}

const heap = {
  name: 'heap',
  slow: true,
  figures: Object.entries(KINDS).map(([kind, { title }]) => ({
    id: `heap-${kind}`,
    title: `heap growth after ${title}`,
    unit: 'KiB',
    max: 1024,
  })),
  async run({ dir }) {
    const figures = {}
    for (const [kind, { count }] of Object.entries(KINDS)) {
      const { stdout } = await withScratch(dir, (folder) =>
        promisify(execFile)(process.execPath, ['--expose-gc', PROGRAM, folder, kind, String(count)]),
      )
      figures[`heap-${kind}`] = { value: Number(stdout) / 1024 }
    }
    return figures
  },
}

if (process.argv[1] === PROGRAM) await printGrowth(process.argv[2], process.argv[3], Number(process.argv[4]))

export const heapGroups = [heap]
