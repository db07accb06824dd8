/** The common part of `ship` and `archive`, which copy a log to a destination until a signal and report their progress. */
import { once } from 'node:events'
import type { CursorSummary, ReadOnlyLog } from '../index.js'
import type { ShipLag, ShipRetry } from '../ship/types.js'
import { InterruptedError } from '../terminal/interrupt.js'
import {
  formatCounted,
  formatFields,
  formatSeqs,
  formatSynced,
  writeJson,
  writeOut,
  writeSummary,
} from '../terminal/output.js'
import { type Progress, startProgress } from '../terminal/progress.js'

const PROGRESS_MS = 200

/** The words of a command for messages. */
export interface ReplicationWords {
  /** The name of the command. */
  command: 'ship' | 'archive'
  done: 'shipped' | 'archived'
  agent: 'shipper' | 'archiver'
}

export interface ReplicationStats {
  /** The last seq that was shipped or archived. */
  seq: number
  records: number
  bytes: number
  rate: number
  lag: ShipLag
  state: string
}

/** A shipper or an archiver. */
export interface Replication {
  on(event: 'retry', listener: (retry: ShipRetry) => void): unknown
  on(event: 'lagging', listener: (lag: ShipLag) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  idle(): Promise<void>
  close(): Promise<void>
}

export type Report = (event: string, details: Record<string, unknown>, text: string) => void

/** Reports an event on stderr. */
export function reporter(json: boolean): Report {
  return (event, details, text) =>
    void process.stderr.write(json ? `${JSON.stringify({ event, ...details })}\n` : `durlog: ${text}\n`)
}

/** Returns an AbortSignal that aborts at the first SIGINT or SIGTERM, with an InterruptedError as the reason. */
export function endingSignal(): AbortSignal {
  const ending = new AbortController()
  const end = (): void => ending.abort(new InterruptedError('ended by a signal; run it again to continue'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  return ending.signal
}

/** Reports the work and returns when it is complete. Throws if the work failed, or if a signal ended it before it was complete. */
export async function watch(
  words: ReplicationWords,
  replication: Replication,
  stats: () => ReplicationStats,
  log: ReadOnlyLog,
  flags: { once?: boolean; json?: boolean },
  ending: AbortSignal,
): Promise<void> {
  const json = flags.json === true
  const failed = new Promise<never>((_, reject) => replication.on('error', reject))
  reportEvents(replication, reporter(json))
  const progress = startProgress(words.command, flags.once ? log.syncedSeq + 1 : 0, json)
  const timer = setInterval(progressReporter(words, progress, stats, json), PROGRESS_MS)
  const signalled = ending.aborted ? Promise.resolve() : once(ending, 'abort')
  const idle = flags.once ? [replication.idle().then(() => true)] : []
  let isDone: boolean
  try {
    isDone = await Promise.race([failed, signalled.then(() => flags.once !== true), ...idle])
    await replication.close()
  } finally {
    clearInterval(timer)
    progress.stop()
  }
  if (!isDone) throw ending.reason
  const { records, bytes, seq } = stats()
  if (json) return writeSummary(`${JSON.stringify({ records, bytes, [`${words.done}Seq`]: seq })}\n`)
  const last = records > 0 ? `, up to seq ${seq}` : ''
  await writeSummary(`${words.done} ${formatCounted(records, 'record')}${last}\n`)
}

/** Returns a function that reports the progress, to be called periodically. */
function progressReporter(
  { done }: ReplicationWords,
  progress: Progress,
  stats: () => ReplicationStats,
  json: boolean,
): () => void {
  // Nothing is reported before the destination has a record.
  let reported = -1
  return () => {
    const { seq, lag, rate, state } = stats()
    progress.update(seq + 1)
    if (!json || seq === reported) return
    reported = seq
    const line = { event: done, [`${done}Seq`]: seq, state, rate: Math.round(rate), lag }
    process.stderr.write(`${JSON.stringify(line)}\n`)
  }
}

/** Returns a function that reports failed attempts. */
export function retryReporter(report: Report): (retry: ShipRetry) => void {
  return ({ error, attempt, pauseMs }) =>
    report(
      'retry',
      { message: error.message, attempt, pauseMs },
      `${error.message}; attempt ${attempt + 1} follows in ${pauseMs} ms`,
    )
}

function reportEvents(replication: Replication, report: Report): void {
  replication.on('retry', retryReporter(report))
  replication.on('lagging', (lag) =>
    report('lagging', { lag }, `${lag.records} records wait, the oldest for ${Math.round(lag.ms / 1000)} s`),
  )
}

/** Prints the position of the cursor `name`. */
export async function showStatus(
  { done, agent }: ReplicationWords,
  log: ReadOnlyLog,
  { cursor: name, json }: { cursor: string; json?: boolean },
): Promise<void> {
  const cursor = (await log.cursors()).find((found) => found.name === name)
  const { firstSeq, nextSeq, syncedSeq } = log
  if (json) return writeJson({ firstSeq, nextSeq, syncedSeq, cursor: cursor ?? null })
  await writeOut(
    formatFields([
      ['log', `${formatSeqs(firstSeq, nextSeq)}, ${formatSynced(syncedSeq)}`],
      [done, cursor === undefined ? 'nothing: there is no such cursor' : positionText(cursor, agent)],
      [agent, cursor?.owned ? `process ${cursor.ownerPid ?? 'unknown'}` : 'none'],
    ]),
  )
}

function positionText({ position, lagRecords, state }: CursorSummary, agent: string): string {
  const waiting = `${formatCounted(lagRecords, 'record')} ${lagRecords === 1 ? 'waits' : 'wait'}`
  if (state !== 'ready') return `the cursor is ${state}; the next ${agent} finds the position in the destination`
  return position === 0 ? `nothing yet; ${waiting}` : `to seq ${position - 1}; ${waiting}`
}
