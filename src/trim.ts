/** Removes old records from a log that need not be open here, even while another process has it open. */
import { atCaller } from './caller-stack.js'
import { DurlogError } from './errors.js'
import { inspect, type SegmentSummary } from './inspect.js'
import {
  currentBounds,
  isTrimRequested,
  removeTrimRequest,
  type TrimRequest,
  writeTrimRequest,
} from './log/maintenance/trim-request.js'
import type { NativeFolderPlan } from './native/log.js'
import { native } from './native/native.js'
import { open, openFraming, trimFound } from './open.js'
import { resolveDir } from './options/call-options.js'
import { type ResolvedTrim, resolveTrimOptions } from './options/trim-options.js'
import { refuseReplica } from './support/folder-marks.js'
import { refuseStreams } from './support/streams-log.js'
import { clock, wait } from './timers.js'
import type { CursorOverrun, TrimOptions, TrimReport } from './types.js'

const POLL_MS = 20

/**
 * Removes whole segments of the log in `dir`. If a process has the log open for writing, this call writes a request
 * file into the folder, which that process looks for once a second. If the log is closed while this call waits, it
 * removes the segments itself. Rejects with ERR_DURLOG_INVALID_ARGUMENT, ERR_DURLOG_NOT_FOUND, or as `open` does.
 */
export async function trim(dir: string | URL, options: TrimOptions): Promise<TrimReport> {
  return await atCaller(trimFolder(resolveDir(dir), resolveTrimOptions(options)))
}

async function trimFolder(path: string, resolved: ResolvedTrim): Promise<TrimReport> {
  refuseStreams(path)
  // Read before the plan is made: no record that is appended later is in a segment that is removed.
  const { firstSeq, nextSeq, uuid, generation, segments } = await inspect(path)
  const plan = await planTrim(path, resolved)
  const { seal, segmentBytes } = plan
  const before = seal ? nextSeq : plan.before
  const planned = { firstSeq, before, ...removalUpTo(before, segments, plan.overruns) }
  if (resolved.dryRun || planned.segments === 0) return { by: 'none', ...planned }
  // Less than planned if a cursor was created meanwhile.
  const done = (first: number) => ({ firstSeq: first, before, ...removalUpTo(first, segments, plan.overruns) })
  const regardless = resolved.policy.keepForCursors ? plan.regardless : before
  // -1 means that the list of truncations is damaged: then the truncations since the plan are unknown.
  const request: TrimRequest = { before, regardless, seal, generation: Math.max(0, generation) }
  const deadline = clock.now() + resolved.waitMs
  let asked: string | undefined
  for (;;) {
    resolved.signal?.throwIfAborted()
    try {
      const trimmed = { by: 'caller' as const, ...done(await trimHere(path, request, segmentBytes)) }
      if (asked !== undefined) removeTrimRequest(path, asked)
      return trimmed
    } catch (error) {
      if (!(error instanceof DurlogError) || error.code !== 'ERR_DURLOG_LOCKED') throw error
    }
    asked ??= await writeTrimRequest(path, uuid, request)
    const leftMs = deadline - clock.now()
    if (leftMs > 0) await wait(Math.min(POLL_MS, leftMs))
    const isServed = !isTrimRequested(path, asked)
    // The lock may belong to another call of `trim`, which serves no requests, so the next turn tries to take it again.
    if (!isServed && leftMs > 0) continue
    const now = (await native.bounds(path)).firstSeq
    return isServed ? { by: 'writer', ...done(now) } : { by: 'requested', ...planned, firstSeq: now }
  }
}

/** The part of a report that describes the removal of the segments that begin before `end`. */
function removalUpTo(
  end: number,
  segments: readonly SegmentSummary[],
  overruns: readonly CursorOverrun[],
): Pick<TrimReport, 'segments' | 'bytes' | 'overruns'> {
  const removed = segments.filter(({ firstSeq }) => firstSeq < end)
  return {
    segments: removed.length,
    bytes: removed.reduce((sum, { bytes }) => sum + bytes, 0),
    overruns: overruns
      .filter(({ lostFirst }) => lostFirst < end)
      .map((overrun) => ({ ...overrun, lostLast: Math.min(overrun.lostLast, end - 1) })),
  }
}

async function planTrim(dir: string, { policy, before }: ResolvedTrim): Promise<NativeFolderPlan> {
  if (before === undefined) return native.planRetention(dir, policy)
  if (typeof before === 'number') return native.planRetention(dir, { ...policy, before })
  const log = await open(dir, { readOnly: true })
  try {
    return await native.planRetention(dir, { ...policy, before: await log.seqAt(before.timeMs) })
  } finally {
    await log.close()
  }
}

async function trimHere(dir: string, request: TrimRequest, segmentBytes: number): Promise<number> {
  // Of a backup, too: a trim does not separate it from its source.
  const options = { create: false, segmentBytes, preallocate: 'none' } as const
  const log = await openFraming(dir, options, segmentBytes, refuseReplica)
  try {
    const bounds = await currentBounds(dir, request)
    if (request.seal && bounds.before >= log.nextSeq) await log.rotate()
    return await trimFound(log, async () => bounds)
  } finally {
    await log.close()
  }
}
