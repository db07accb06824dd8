/**
 * The common part of `ship` and `archive`, which copy a log to a destination until a signal and report their progress.
 */
import { once } from 'node:events'
import type { Command } from 'commander'
import type { CursorSummary, ReadOnlyLog } from '../index.js'
import { type LastFailure, lastFailure } from '../ship/failure-file.js'
import type { ShipLag, ShipRetry } from '../ship/types.js'
import { ExitCode } from '../terminal/exit-codes.js'
import { InterruptedError, onInterrupt } from '../terminal/interrupt.js'
import {
  formatCounted,
  formatFields,
  formatSeqs,
  formatSynced,
  formatTime,
  writeErr,
  writeJson,
  writeMessage,
  writeOut,
  writeSummary,
} from '../terminal/output.js'
import { type Progress, startProgress } from '../terminal/progress.js'
import { type Has, inCommandTerms, optionsOf } from './failure.js'
import { ageFrom, waitingText } from './record-age.js'

const PROGRESS_MS = 200
/** Not SIGHUP: a service that was started with nohup continues. */
export const ENDING = ['SIGINT', 'SIGTERM'] as const

/** The words of a command for messages. */
export interface ReplicationWords {
  /** The name of the command. */
  command: 'ship' | 'archive'
  done: 'shipped' | 'archived'
  agent: 'shipper' | 'archiver'
}

export interface CopierStats {
  /** The last seq that was shipped or archived. */
  seq: number
  records: number
  bytes: number
  rate: number
  lag: ShipLag
  state: string
}

/** A shipper or an archiver. */
export interface Copier {
  on(event: 'retry', listener: (retry: ShipRetry) => void): unknown
  on(event: 'lagging', listener: (lag: ShipLag) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  idle(): Promise<void>
  close(): Promise<void>
}

export type Report = (event: string, details: Record<string, unknown>, text: string) => void

/** Reports an event on stderr, with its time. */
export function reporter(json: boolean): Report {
  return (event, details, text) => {
    const time = formatTime(Date.now())
    if (json) writeErr(`${JSON.stringify({ event, ...details, time })}\n`)
    else writeMessage('durlog: ', `${time} ${text}`)
  }
}

/** Returns an AbortSignal that aborts at the first of `signals`, with an InterruptedError as the reason. */
export function endingSignal(signals: readonly NodeJS.Signals[] = ENDING): AbortSignal {
  const ending = new AbortController()
  onInterrupt(() => ending.abort(new InterruptedError('ended by a signal; run it again to continue')), signals)
  return ending.signal
}

/**
 * Reports the work and returns when it is complete. Throws if the work failed, or if a signal ended it before it was
 * complete.
 */
export async function watch(
  words: ReplicationWords,
  replication: Copier,
  stats: () => CopierStats,
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
  stats: () => CopierStats,
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
    writeErr(`${JSON.stringify(line)}\n`)
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

function reportEvents(replication: Copier, report: Report): void {
  replication.on('retry', retryReporter(report))
  replication.on('lagging', (lag) => report('lagging', { lag }, waitingText(lag.records, lag.ms)))
}

/** The longest time that a record may wait in a healthy state, and at least this many times the interval of uploads. */
const HEALTHY_WAIT_MS = 300_000
const HEALTHY_FLUSHES = 3

/**
 * Prints the position of the cursor `name`, the oldest record that waits, and the last failure. The exit status is 1 if
 * records wait without a process that copies them, if the last attempt has failed, or if a record has waited for too
 * long.
 */
export async function showStatus(
  { done, agent }: ReplicationWords,
  log: ReadOnlyLog,
  { cursor: name, flush = 0, json }: { cursor: string; flush?: number | undefined; json?: boolean },
  command: Command,
): Promise<void> {
  const cursor = (await log.cursors()).find((found) => found.name === name)
  const failure = await lastFailure(log.dir, name)
  const { firstSeq, nextSeq, syncedSeq } = log
  const waiting = cursor === undefined ? nextSeq - firstSeq : cursor.lagRecords
  const waitMs = waiting === 0 ? 0 : (ageFrom(log, Math.max(firstSeq, cursor?.position ?? firstSeq)) ?? 0)
  const isHealthy =
    (cursor === undefined || cursor.state === 'ready') &&
    (failure === undefined || failure.endedMs !== undefined) &&
    (waiting === 0 || (cursor?.owned === true && waitMs <= Math.max(HEALTHY_WAIT_MS, HEALTHY_FLUSHES * flush)))
  if (!isHealthy) process.exitCode = ExitCode.doubtful
  if (json)
    return writeJson({
      firstSeq,
      nextSeq,
      syncedSeq,
      cursor: cursor ?? null,
      oldestWaitMs: waitMs,
      lastFailure: failure ?? null,
      healthy: isHealthy,
    })
  await writeOut(
    formatFields([
      ['log', `${formatSeqs(firstSeq, nextSeq)}, ${formatSynced(syncedSeq)}`],
      [done, cursor === undefined ? 'nothing: there is no such cursor' : positionText(cursor, agent)],
      ['oldest', waiting === 0 ? 'no record waits' : `a record waits since ${formatTime(Date.now() - waitMs)}`],
      [agent, cursor?.owned ? `process ${cursor.ownerPid ?? 'unknown'}` : 'none'],
      ['last error', failure === undefined ? 'none' : failureText(failure, agent, optionsOf(command))],
    ]),
  )
}

function failureText(
  { message, sinceMs, lastMs, attempts, stopped, endedMs }: LastFailure,
  agent: string,
  has: Has,
): string {
  const text = `${formatTime(lastMs)} ${inCommandTerms(message, has)}`
  if (endedMs !== undefined) return `${text} (ended ${formatTime(endedMs)})`
  const since = `${formatCounted(attempts, 'failed attempt')} since ${formatTime(sinceMs)}`
  return `${text} (${since}${stopped ? `; it has stopped the ${agent}` : ''})`
}

function positionText({ position, lagRecords, state }: CursorSummary, agent: string): string {
  const waiting = waitingText(lagRecords)
  if (state !== 'ready') return `the cursor is ${state}; the next ${agent} finds the position in the destination`
  return position === 0 ? `nothing yet; ${waiting}` : `to seq ${position - 1}; ${waiting}`
}
