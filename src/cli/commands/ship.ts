import { once } from 'node:events'
import type { Command } from 'commander'
import { type CursorSummary, open, type ReadOnlyLog } from '../../index.js'
import type { Shipper } from '../../jetstream/index.js'
import { ship } from '../../jetstream/index.js'
import { addJson, parseWhole } from '../../terminal/arguments.js'
import { ExitCode } from '../../terminal/exit-codes.js'
import { InputError } from '../../terminal/input-error.js'
import {
  formatCounted,
  formatFields,
  formatSeqs,
  formatSynced,
  writeJson,
  writeOut,
  writeSummary,
} from '../../terminal/output.js'
import { type Progress, startProgress } from '../../terminal/progress.js'
import { addNats, type NatsFlags, toAccess } from '../nats-flags.js'

interface Flags extends NatsFlags {
  once?: boolean
  status?: boolean
  cursor: string
  replicas: number
  create: boolean
  skipGaps?: boolean
  split: boolean
  maxInFlight: number
  json?: boolean
}

const PROGRESS_MS = 200

export function register(program: Command): void {
  const command = program
    .command('ship')
    .summary('ship records to NATS JetStream')
    .description(
      'Ship every synced record to a stream of NATS JetStream at URL (several with commas), exactly once and in order, until SIGINT or SIGTERM. Other processes may write the log meanwhile. Needs the packages @nats-io/jetstream and @nats-io/transport-node.',
    )
    .argument('<dir>', 'the folder of the log')
    .argument('[url]', 'nats://host:port (default: NATS_URL, or nats://127.0.0.1:4222)')
    .option('--once', 'end when all records that are synced now are shipped')
    .option('--status', 'print the position of shipping, and ship nothing; asks no server')
    .option('--cursor <name>', 'the cursor of the log for this destination', 'ship')
    .option('--replicas <count>', 'replicas of a stream that is created', parseWhole, 1)
    .option('--no-create', 'do not create a missing stream')
    .option('--skip-gaps', 'continue after records that neither the log nor the stream holds')
    .option('--no-split', 'stop at a record that is longer than a message may be')
    .option('--max-in-flight <count>', 'records that may wait for an acknowledgement', parseWhole, 2000)
  addJson(addNats(command)).action(run)
}

async function run(dir: string, url: string | undefined, flags: Flags): Promise<void> {
  await using log = await open(dir, { readOnly: true })
  if (flags.status) return await showStatus(log, flags)
  const { stream, subject } = flags
  if (stream === undefined) throw new InputError('the option --stream is required', ExitCode.usage)
  const ending = new AbortController()
  const end = (): void => ending.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  await using shipper = ship(log, {
    ...toAccess(url, flags),
    stream,
    subject,
    cursor: flags.cursor,
    replicas: flags.replicas,
    create: flags.create,
    skipGaps: flags.skipGaps,
    oversized: flags.split ? 'split' : 'refuse',
    maxInFlight: flags.maxInFlight,
    retryForMs: flags.retryFor,
  })
  await watch(shipper, log, flags, ending.signal)
}

/** Returns when shipping is done; throws if it failed. */
async function watch(shipper: Shipper, log: ReadOnlyLog, flags: Flags, ending: AbortSignal): Promise<void> {
  const failed = once(shipper, 'error').then(([error]) => {
    throw error
  })
  reportEvents(shipper, flags.json === true)
  const progress = startProgress('ship', flags.once ? log.syncedSeq + 1 : 0, flags.json === true)
  const timer = setInterval(progressReporter(progress, shipper, flags.json === true), PROGRESS_MS)
  const signalled = ending.aborted ? Promise.resolve() : once(ending, 'abort')
  try {
    await Promise.race([failed, signalled, ...(flags.once ? [shipper.idle()] : [])])
    await shipper.close()
  } finally {
    clearInterval(timer)
    progress.stop()
  }
  const { records, bytes, shippedSeq } = shipper.stats()
  if (flags.json) return writeSummary(`${JSON.stringify({ records, bytes, shippedSeq })}\n`)
  const last = records > 0 ? `, up to seq ${shippedSeq}` : ''
  await writeSummary(`shipped ${formatCounted(records, 'record')}${last}\n`)
}

/** Returns a function that reports the progress, to be called periodically. */
function progressReporter(progress: Progress, shipper: Shipper, json: boolean): () => void {
  let reported: number | undefined
  return () => {
    const { shippedSeq, lag, rate, state } = shipper.stats()
    progress.update(shippedSeq + 1)
    if (!json || shippedSeq === reported) return
    reported = shippedSeq
    process.stderr.write(`${JSON.stringify({ event: 'shipped', shippedSeq, state, rate: Math.round(rate), lag })}\n`)
  }
}

function reportEvents(shipper: Shipper, json: boolean): void {
  const report = (event: string, details: Record<string, unknown>, text: string): void =>
    void process.stderr.write(json ? `${JSON.stringify({ event, ...details })}\n` : `durlog: ${text}\n`)
  shipper.on('retry', ({ error, attempt, pauseMs }) =>
    report(
      'retry',
      { message: error.message, attempt, pauseMs },
      `${error.message}; try ${attempt + 1} in ${pauseMs} ms`,
    ),
  )
  shipper.on('lagging', (lag) => report('lagging', { lag }, `${lag.records} records wait, the oldest for ${lag.ms} ms`))
  shipper.on('gap', (first, last) =>
    report('gap', { first, last }, `records ${first} to ${last} were trimmed, and are skipped`),
  )
}

async function showStatus(log: ReadOnlyLog, { cursor: name, json }: Flags): Promise<void> {
  const cursor = (await log.cursors()).find((found) => found.name === name)
  const { firstSeq, nextSeq, syncedSeq } = log
  if (json) return writeJson({ firstSeq, nextSeq, syncedSeq, cursor: cursor ?? null })
  await writeOut(
    formatFields([
      ['log', `${formatSeqs(firstSeq, nextSeq)}, ${formatSynced(syncedSeq)}`],
      ['shipped', cursor === undefined ? 'nothing: there is no such cursor' : shippedText(cursor)],
      ['shipper', cursor?.owned ? `process ${cursor.ownerPid ?? 'unknown'}` : 'none'],
    ]),
  )
}

function shippedText({ position, lagRecords, state }: CursorSummary): string {
  const waiting = `${formatCounted(lagRecords, 'record')} ${lagRecords === 1 ? 'waits' : 'wait'}`
  if (state !== 'ready') return `the cursor is ${state}; the next shipper asks the destination`
  return position === 0 ? `nothing yet; ${waiting}` : `to seq ${position - 1}; ${waiting}`
}
