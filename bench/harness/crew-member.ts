/**
 * A member of a crew, a process or a worker thread. It gets its load from the parent, and reports the start and end
 * times.
 */
import { parentPort } from 'node:worker_threads'
import { type Durability, type Log, open } from 'durlog'
import { Baseline, type BaselineSpec } from './baselines.js'
import { writeInBursts } from './load.js'

export interface AppendJob {
  /** A raw method on a file that the crew shares. */
  spec?: BaselineSpec
  /** Without `spec`: the folder of the log. */
  dir?: string
  /** Whether the whole crew writes the log in `dir`. */
  shared?: boolean
  recordBytes: number
  operations: number
  /** The number of appends in flight; 0: bursts of `write`. */
  inFlight: number
  /** The level of the appends. Default `memory`. */
  durability?: Durability
}

export type ToMember = { kind: 'prepare'; job: AppendJob } | { kind: 'go' } | { kind: 'finish' } | { kind: 'quit' }
export type FromMember =
  | { kind: 'ready' }
  | { kind: 'done'; startNs: string; endNs: string; acknowledged: number }
  | { kind: 'finished' }
  | { kind: 'failed'; message: string; unsupported: boolean }

const BURST = 1000
const RECORDS_PER_SAMPLE = 100

interface Prepared {
  /** Makes the appends. Returns the number of those that were acknowledged. */
  go(): Promise<number>
  close(): Promise<unknown>
}

/** Stores the record's number in it, so that the parent can check that every record is in the log. */
function stamp(payload: Buffer, index: number): void {
  if (payload.length >= 4) payload.writeUInt32LE(index)
}

async function writeAll(log: Log, { recordBytes, operations }: AppendJob): Promise<number> {
  const payload = Buffer.alloc(recordBytes, 0x5a)
  let index = 0
  const write = (): void => {
    stamp(payload, index)
    log.write(payload)
    index += 1
  }
  await writeInBursts(write, () => log.drain(), operations, BURST)
  return index
}

async function appendAll(log: Log, job: AppendJob): Promise<number> {
  const { recordBytes, operations, inFlight, durability = 'memory' } = job
  const payload = Buffer.alloc(recordBytes, 0x5a)
  let index = 0
  let acknowledged = 0
  const lane = async (): Promise<void> => {
    while (index < operations) {
      stamp(payload, index)
      index += 1
      await log.append(payload, { durability })
      acknowledged += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return acknowledged
}

async function prepare(job: AppendJob): Promise<Prepared> {
  if (job.spec) {
    const baseline = await Baseline.open({ ...job.spec, recordsPerSample: RECORDS_PER_SAMPLE })
    // `close` is part of the measured time, because it flushes the process's own buffer.
    return {
      go: async () => {
        const latencies = await baseline.run(job.operations / RECORDS_PER_SAMPLE)
        await baseline.close()
        return latencies.length * RECORDS_PER_SAMPLE
      },
      close: async () => {},
    }
  }
  const log = await open(job.dir as string, { shared: job.shared === true })
  return { go: () => (job.inFlight > 0 ? appendAll(log, job) : writeAll(log, job)), close: () => log.close() }
}

let prepared: Prepared | undefined

function tell(message: FromMember): void {
  if (parentPort) parentPort.postMessage(message)
  else if (process.connected) process.send?.(message)
}

function quit(): void {
  if (parentPort) parentPort.close()
  else process.disconnect()
}

async function handle(message: ToMember): Promise<void> {
  if (message.kind === 'quit') return quit()
  if (message.kind === 'prepare') {
    prepared = await prepare(message.job)
    return tell({ kind: 'ready' })
  }
  if (message.kind === 'finish') {
    await prepared?.close()
    prepared = undefined
    return tell({ kind: 'finished' })
  }
  const startNs = process.hrtime.bigint()
  const acknowledged = (await prepared?.go()) ?? 0
  const endNs = process.hrtime.bigint()
  tell({ kind: 'done', startNs: String(startNs), endNs: String(endNs), acknowledged })
}

const parent = parentPort ?? process
parent.on('message', (message: ToMember) => {
  handle(message).catch((error: Error & { unsupported?: boolean; code?: string }) => {
    const unsupported = error.unsupported === true || error.code === 'ERR_DURLOG_UNSUPPORTED'
    tell({ kind: 'failed', message: error.message, unsupported })
  })
})
