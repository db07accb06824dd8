// Under fault_shim.c: makes every method that returns a promise reject, and reports as JSON the code and the stack of
// each error. The calls are made by the functions of `calls`, whose names the stacks should show.
import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { frames, inspect, open, repair, trim, verify } from '../../dist/index.js'
import { arm, disarm } from './shim.mjs'

const { folder } = JSON.parse(process.argv[2])
const EIO = 5
const results = []
let made = 0

async function writer(options) {
  const log = await open(join(folder, `${made++}`), { strategy: 'pwrite', segmentBytes: 262_144, ...options })
  await log.append('first')
  return log
}

async function reader() {
  const log = await writer()
  await log.append('second')
  await log.close()
  return open(log.dir, { readOnly: true })
}

/** A reader of a log whose first record is damaged. */
async function damaged() {
  const log = await reader()
  const [segment] = readdirSync(log.dir).filter((name) => name.endsWith('.seg'))
  const file = openSync(join(log.dir, segment), 'r+')
  writeSync(file, Buffer.alloc(64, 255), 0, 64, 4096)
  closeSync(file)
  return log
}

/** A reader of a log whose folder is gone. */
async function orphaned() {
  const log = await reader()
  rmSync(log.dir, { recursive: true })
  return log
}

const missing = join(folder, 'missing')
const fail = (call) => arm({ call, errno: EIO, times: 1000 })

/** Each makes its object, and returns the function that makes the call. */
const calls = {
  open: async () => async () => void (await open(missing, { create: false })),
  inspect: async () => async () => void (await inspect(missing)),
  verify: async () => async () => void (await verify(missing)),
  repair: async () => async () => void (await repair(missing)),
  trim: async () => async () => void (await trim(missing, { before: 1 })),
  frames: async () => async () => void (await frames(missing, '00000000000000000000.seg').next()),
  append: async () => {
    const log = await writer()
    fail('fdatasync')
    return async () => void (await log.append('x'))
  },
  appendBatch: async () => {
    const log = await writer()
    fail('fdatasync')
    return async () => void (await log.appendBatch(['x', 'y']))
  },
  'append that waits for room': async () => {
    const log = await writer({ maxPendingBytes: 131_072, maxRecordBytes: 65_536 })
    fail('fdatasync')
    for (let i = 0; i < 20; i++) log.append(Buffer.alloc(65_000)).catch(() => {})
    return async () => void (await log.append(Buffer.alloc(65_000)))
  },
  sync: async () => {
    const log = await writer()
    log.write('x')
    fail('fdatasync')
    return async () => void (await log.sync())
  },
  'sync of a latched log': async () => {
    const log = await writer()
    fail('fdatasync')
    await log.append('x').catch(() => {})
    return async () => void (await log.sync())
  },
  close: async () => {
    const log = await writer()
    log.write('x')
    fail('fdatasync')
    return async () => void (await log.close())
  },
  trimBefore: async () => {
    const log = await writer()
    await log.rotate()
    fail('unlink')
    return async () => void (await log.trimBefore(1))
  },
  applyRetention: async () => {
    const log = await writer({ retention: { maxBytes: 1_048_576 } })
    fail('unlink')
    for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(100_000))
    return async () => void (await log.applyRetention())
  },
  truncateAfter: async () => {
    const log = await writer()
    await log.append('second')
    fail('pwrite')
    return async () => void (await log.truncateAfter(0))
  },
  rotate: async () => {
    const log = await writer()
    fail('rename')
    return async () => void (await log.rotate())
  },
  get: async () => {
    const log = await damaged()
    return async () => void (await log.get(0))
  },
  'read().next': async () => {
    const log = await damaged()
    return async () => void (await log.read().next())
  },
  'read().batches().next': async () => {
    const log = await damaged()
    return async () => void (await log.read().batches().next())
  },
  'for await of read()': async () => {
    const log = await damaged()
    return async () => {
      for await (const record of log.read()) throw new Error(`record ${record.seq} is not damaged`)
    }
  },
  'cursor.read().next': async () => {
    const log = await damaged()
    const cursor = await log.cursor('c')
    return async () => void (await cursor.read().next())
  },
  seqAt: async () => {
    const log = await orphaned()
    return async () => void (await log.seqAt(0))
  },
  isCurrent: async () => {
    const log = await orphaned()
    return async () => void (await log.isCurrent({ uuid: log.uuid, generation: 0, seq: 0, checksum: 1 }))
  },
  checksum: async () => {
    const log = await orphaned()
    return async () => void (await log.checksum(0))
  },
  refresh: async () => {
    const log = await orphaned()
    return async () => void (await log.refresh())
  },
  cursor: async () => {
    const log = await orphaned()
    return async () => void (await log.cursor('c'))
  },
  ensureCursor: async () => {
    const log = await orphaned()
    return async () => void (await log.ensureCursor('c'))
  },
  cursors: async () => {
    const log = await orphaned()
    return async () => void (await log.cursors())
  },
  removeCursor: async () => {
    const log = await orphaned()
    return async () => void (await log.removeCursor('c'))
  },
  'cursor.commit': async () => {
    const log = await writer()
    const cursor = await log.cursor('c', { from: 0 })
    fail('msync')
    return async () => void (await cursor.commit(0, { durability: 'sync' }))
  },
  'cursor.seek': async () => {
    const log = await writer()
    const cursor = await log.cursor('c', { from: 0 })
    fail('msync')
    return async () => void (await cursor.seek(1))
  },
}

for (const [name, prepare] of Object.entries(calls)) {
  const call = await prepare()
  async function callerInThisFile() {
    await call()
  }
  try {
    await callerInThisFile()
    results.push({ call: name, code: 'none', stack: '' })
  } catch (error) {
    results.push({ call: name, code: error.code ?? String(error), stack: error.stack })
  }
  disarm()
}
process.stdout.write(JSON.stringify(results), () => process.exit())
