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
      'Bring every synced record to a stream of NATS JetStream at URL (several with commas), exactly once and in order, until SIGINT or SIGTERM. The log may be written meanwhile. Needs the packages @nats-io/jetstream and @nats-io/transport-node.',
    )
    .argument('<dir>', "the log's folder")
    .argument('[url]', 'nats://host:port (default: NATS_URL, or nats://127.0.0.1:4222)')
    .option('--once', 'end when everything that is synced now is shipped')
    .option('--status', 'tell how far shipping is, and ship nothing; asks no server')
    .option('--cursor <name>', "the log's cursor for this destination", 'ship')
    .option('--replicas <count>', 'of a stream that is made', parseWhole, 1)
    .option('--no-create', 'do not make a stream that is missing')
    .option('--skip-gaps', 'go on after records that were trimmed before they were shipped')
    .option('--no-split', 'stop at a record that is longer than a message may be')
    .option('--max-in-flight <count>', 'records on their way', parseWhole, 2000)
  addJson(addNats(command)).action(run)
}

async function run(dir: string, url: string | undefined, flags: Flags): Promise<void> {
  await using log = await open(dir, { readOnly: true })
  if (flags.status) return showStatus(log, flags)
  const { stream, subject } = flags
  if (stream === undefined) throw new InputError('--stream names the stream', ExitCode.usage)
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
    onGap: flags.skipGaps ? 'skip' : 'stop',
    oversized: flags.split ? 'split' : 'refuse',
    maxInFlight: flags.maxInFlight,
    retryForMs: flags.retryFor,
  })
  await watch(shipper, log, flags, ending.signal)
}

/** Until it is done, or has failed. */
async function watch(shipper: Shipper, log: ReadOnlyLog, flags: Flags, ending: AbortSignal): Promise<void> {
  const failed = once(shipper, 'error').then(([error]) => {
    throw error
  })
  tellNews(shipper, flags.json === true)
  const progress = await startProgress('ship', flags.once ? log.syncedSeq + 1 : 0, flags.json === true)
  const timer = setInterval(progressTeller(progress, shipper, flags.json === true), PROGRESS_MS)
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

/** Returns what tells how far the shipper is, to be called now and then. */
function progressTeller(progress: Progress, shipper: Shipper, json: boolean): () => void {
  let told: number | undefined
  return () => {
    const { shippedSeq, lag, rate, state } = shipper.stats()
    progress.update(shippedSeq + 1)
    if (!json || shippedSeq === told) return
    told = shippedSeq
    process.stderr.write(`${JSON.stringify({ event: 'shipped', shippedSeq, state, rate: Math.round(rate), lag })}\n`)
  }
}

function tellNews(shipper: Shipper, json: boolean): void {
  const tell = (event: string, details: Record<string, unknown>, text: string): void =>
    void process.stderr.write(json ? `${JSON.stringify({ event, ...details })}\n` : `durlog: ${text}\n`)
  shipper.on('retry', ({ error, attempt, pauseMs }) =>
    tell(
      'retry',
      { message: error.message, attempt, pauseMs },
      `${error.message}; try ${attempt + 1} in ${pauseMs} ms`,
    ),
  )
  shipper.on('lagging', (lag) => tell('lagging', { lag }, `${lag.records} records wait, the oldest for ${lag.ms} ms`))
  shipper.on('gap', (first, last) =>
    tell('gap', { first, last }, `records ${first} to ${last} were trimmed, and left out`),
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
  if (state !== 'ready') return `the cursor is ${state}; the destination is asked when shipping goes on`
  return position === 0 ? `nothing yet; ${waiting}` : `to seq ${position - 1}; ${waiting}`
}
