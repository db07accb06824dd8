/** One of several processes that append at the same time; gets its load from the parent and reports begin and end. */
import { type Log, open } from 'durlog'
import { Baseline, type BaselineSpec } from '../harness/baselines.js'
import { nextTurn } from '../harness/load.js'

export interface AppendJob {
  /** A raw method on a shared file, or durlog in a folder of this process's own. */
  spec?: BaselineSpec
  dir?: string
  /** The folder is that of all processes: they write one log. */
  shared?: boolean
  recordBytes: number
  operations: number
  /** In bursts of `write`, or with so many appends in flight at `memory`. */
  inFlight: number
}

export type ToWorker = { kind: 'prepare'; job: AppendJob } | { kind: 'go' } | { kind: 'quit' }
export type FromWorker =
  | { kind: 'ready' }
  | { kind: 'done'; startNs: string; endNs: string }
  | { kind: 'failed'; message: string; unsupported: boolean }

const BURST = 1000
const RECORDS_PER_SAMPLE = 100

interface Prepared {
  go(): Promise<unknown>
  close(): Promise<unknown>
}

/** Numbered, so that the parent can check which are there. */
function stamp(payload: Buffer, index: number): void {
  if (payload.length >= 4) payload.writeUInt32LE(index)
}

async function writeAll(log: Log, { recordBytes, operations }: AppendJob): Promise<void> {
  const payload = Buffer.alloc(recordBytes, 0x5a)
  for (let index = 0; index < operations; ) {
    try {
      for (const end = Math.min(operations, index + BURST); index < end; index += 1) {
        stamp(payload, index)
        log.write(payload)
      }
      await nextTurn()
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_DURLOG_BACKPRESSURE') throw error
      await log.drain()
    }
  }
}

async function appendAll(log: Log, { recordBytes, operations, inFlight }: AppendJob): Promise<void> {
  const payload = Buffer.alloc(recordBytes, 0x5a)
  let index = 0
  const lane = async (): Promise<void> => {
    while (index < operations) {
      stamp(payload, index)
      index += 1
      await log.append(payload, { durability: 'memory' })
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
}

async function prepare(job: AppendJob): Promise<Prepared> {
  if (job.spec) {
    const baseline = await Baseline.open({ ...job.spec, recordsPerSample: RECORDS_PER_SAMPLE })
    // Flushing the process's own buffer is part of the method.
    return {
      go: () => baseline.run(job.operations / RECORDS_PER_SAMPLE).then(() => baseline.close()),
      close: async () => {},
    }
  }
  const log = await open(job.dir as string, { shared: job.shared === true })
  return { go: () => (job.inFlight > 0 ? appendAll(log, job) : writeAll(log, job)), close: () => log.close() }
}

let prepared: Prepared | undefined

function tell(message: FromWorker): void {
  process.send?.(message)
}

async function handle(message: ToWorker): Promise<void> {
  if (message.kind === 'quit') return process.disconnect()
  if (message.kind === 'prepare') {
    prepared = await prepare(message.job)
    return tell({ kind: 'ready' })
  }
  const startNs = process.hrtime.bigint()
  await prepared?.go()
  const endNs = process.hrtime.bigint()
  await prepared?.close()
  prepared = undefined
  tell({ kind: 'done', startNs: String(startNs), endNs: String(endNs) })
}

process.on('message', (message: ToWorker) => {
  handle(message).catch((error: Error & { unsupported?: boolean }) =>
    tell({ kind: 'failed', message: error.message, unsupported: error.unsupported === true }),
  )
})
