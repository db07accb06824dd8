/**
 * The memory that calls leave in the JavaScript heap, measured in a separate process. See also bench/targets/heap.mjs.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import { open } from '../src/index.js'
import { scratchDir } from './fixtures/scratch.js'

const PROGRAM = fileURLToPath(new URL('../bench/targets/heap.mjs', import.meta.url))
const GARBAGE = fileURLToPath(new URL('./fixtures/garbage-child.mjs', import.meta.url))
/**
 * Defining a class for each object took 5 KB per object, 1.4 MiB or more here. The engine's own variation, up to 311 KB
 * on a busy machine, does not grow with the count.
 */
const MAX_GROWTH_BYTES = 1024 * 1024

test.each([
  { kind: 'reads', count: 500 },
  { kind: 'cursors', count: 300 },
  { kind: 'opens', count: 300 },
  { kind: 'shared-opens', count: 300 },
  { kind: 'read-only-opens', count: 300 },
])('$count $kind leave nothing in the heap', async ({ kind, count }) => {
  const args = ['--expose-gc', PROGRAM, scratchDir(), kind, String(count)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(Number(stdout)).toBeLessThan(MAX_GROWTH_BYTES)
})

// In a Map or Set, half of the answered requests stayed until a full garbage collection: 9.7 MB here, and 0.4 MB now.
test.each(['active', 'pending-requests'])(
  'answered requests of the list %s need no full garbage collection',
  async (list) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', GARBAGE, list])
    expect(Number(stdout)).toBeLessThan(2 * MAX_GROWTH_BYTES)
  },
)

test('a follower that waits for a record does not keep the memory with which it read the earlier ones', async () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const log = await open(scratchDir(), { durability: 'memory' })
  await log.appendBatch(['a', 'b'])
  gc()
  const before = process.memoryUsage().arrayBuffers
  const readers = Array.from({ length: 50 }, () => log.read({ follow: true }))
  for (const reader of readers) for (const seq of [0, 1]) expect((await reader.next()).value?.seq).toBe(seq)
  const next = readers.map((reader) => reader.next())
  // Their next record shows that all of them waited.
  await log.append('c')
  for (const result of await Promise.all(next)) expect(result.value?.seq).toBe(2)
  // It was 2 MiB for each. The collector may release it some turns later.
  await vi.waitFor(() => {
    gc()
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(readers.length * 128 * 1024)
  }, 10_000)
  await log.close()
})
