/** The warnings of `durlog top`. */
import type { StatsFs } from 'node:fs'
import type { LastFailure } from '../ship/failure-file.js'
import { formatCounted } from '../terminal/output.js'
import type { CursorSummary } from '../types.js'
import { judgeSpace } from './doctor/limits.js'
import { waitingText } from './record-age.js'

/** A cursor whose lag was larger in this many samples than in the one before grows. */
const GROWING_SAMPLES = 3

export interface WatchedCursor extends CursorSummary {
  passedPerSecond: number
  /** The age of the oldest record that waits, in milliseconds; 0 if none waits, undefined if it cannot be read. */
  lagMs: number | undefined
  /** The number of consecutive samples in which the lag was larger than in the one before. */
  growingSamples: number
  /** The failure of the shipper, archiver or replication that uses the cursor; undefined if it does not fail. */
  failure?: LastFailure | undefined
}

export type Severity = 'warning' | 'failure'

export interface Warning {
  severity: Severity
  text: string
}

function warn(text: string): Warning {
  return { severity: 'warning', text }
}

function fail(text: string): Warning {
  return { severity: 'failure', text }
}

function aboutCursor({
  name,
  state,
  lagRecords,
  lagMs,
  owned,
  passedPerSecond,
  growingSamples,
  failure,
}: WatchedCursor): Warning[] {
  const waits = lagRecords === 0 ? 'no record waits' : waitingText(lagRecords, lagMs)
  if (failure?.stopped) return [fail(`"${name}" has stopped copying the log (${waits}): ${failure.message}`)]
  if (failure !== undefined)
    return [
      warn(
        `"${name}" has failed to copy the log ${formatCounted(failure.attempts, 'time')} (${waits}): ${failure.message}`,
      ),
    ]
  if (state !== 'ready')
    return [
      fail(
        `the cursor "${name}" is ${state}: its consumer reads nothing until "durlog cursors DIR --seek ${name} --from SEQ"`,
      ),
    ]
  if (lagRecords === 0) return []
  if (!owned && passedPerSecond === 0) return [warn(`no process reads the cursor "${name}": ${waits}`)]
  if (growingSamples >= GROWING_SAMPLES) return [warn(`the cursor "${name}" falls behind: ${waits}`)]
  return []
}

function aboutDisk(space: StatsFs, segmentBytes: number): Warning[] {
  const { verdict, found, advice } = judgeSpace(space, segmentBytes)
  if (verdict === 'OK') return []
  const text = `the disk is nearly full: ${found}: ${advice}`
  return [verdict === 'FAIL' ? fail(text) : warn(text)]
}

/** `segmentBytes`: the length of the log's largest segment. */
export function warningsOf(cursors: readonly WatchedCursor[], space: StatsFs, segmentBytes: number): Warning[] {
  return [...aboutDisk(space, segmentBytes), ...cursors.flatMap(aboutCursor)]
}
