/** A standby: follows a replicated log as a replica, and takes over when the lease of its writer ends. */
import { DurlogError, type DurlogErrorCode, isCode } from '../errors.js'
import type { LeaseView } from '../index.js'
import { anySignal } from '../options/abort-signal.js'
import { bag, callback } from '../options/checks.js'
import { attempts } from './backoff.js'
import type { Lease } from './lease.js'
import type { ShipRetry } from './types.js'

/** Errors of this machine that may pass while a standby waits. */
const PASSING: readonly DurlogErrorCode[] = [
  'ERR_DURLOG_NO_SPACE',
  'ERR_DURLOG_TOO_MANY_FILES',
  'ERR_DURLOG_OUT_OF_MEMORY',
]

/** The calls of one kind of destination. */
export interface StandByCalls<Report> {
  /**
   * Follows the log until `signal` aborts, and calls `onCaughtUp` with its lease once the replica holds all records of
   * the destination.
   */
  follow(signal: AbortSignal, onCaughtUp: (lease: () => Lease) => void): Promise<unknown>
  takeOver(signal: AbortSignal): Promise<Report>
  onLease(lease: LeaseView): void
}

/**
 * Resolves the options of `standBy`: those of a restore with `names`, and `onLease`. Returns the options of the restore
 * that follows, and of the one that takes over. Throws ERR_DURLOG_INVALID_ARGUMENT.
 */
export function resolveStandBy<Options extends { follow: boolean }>(
  options: unknown,
  names: readonly string[],
  resolveRestore: (options: unknown) => Options,
): { onLease: (lease: LeaseView) => void; following: Options; taking: Options } {
  const { onLease, ...rest } = bag('standBy options', options, [...names, 'onLease'])
  const following = resolveRestore({ ...rest, follow: true })
  return {
    onLease: callback('onLease', onLease as ((lease: LeaseView) => void) | undefined),
    following,
    taking: { ...following, follow: false },
  }
}

/**
 * Resolves when the log was taken over. Rejects with the reason of `signal`, or as `follow` and `takeOver` do. After a
 * full disk, and other errors that may pass, continues to stand by.
 */
export async function standByUntilTaken<Report>(
  calls: StandByCalls<Report>,
  { signal, onRetry }: { signal: AbortSignal | undefined; onRetry(retry: ShipRetry): void },
): Promise<Report> {
  const isTransient = (error: unknown): boolean => error instanceof DurlogError && PASSING.includes(error.code)
  const pauses = { isTransient, retryForMs: Number.POSITIVE_INFINITY, signal, onRetry }
  for (;;) {
    const report = await attempts(Number.POSITIVE_INFINITY, () => standByOnce(calls, signal), pauses)
    if (report !== undefined) return report
  }
}

/** Resolves with undefined if another process has the log or the lease instead. */
async function standByOnce<Report>(calls: StandByCalls<Report>, signal?: AbortSignal): Promise<Report | undefined> {
  const taken = new AbortController()
  const lost = new AbortController()
  const untilTaken = anySignal([signal, taken.signal])
  const untilLost = anySignal([signal, lost.signal])
  let lease: Lease | undefined
  const watch = (toLease: () => Lease): void => {
    if (lease !== undefined) return
    const watched = toLease()
    lease = watched
    watched.start((isHeld) => {
      calls.onLease(watched.view)
      if (isHeld) taken.abort()
      else if (taken.signal.aborted) lost.abort()
      return !lost.signal.aborted
    })
  }
  try {
    await calls.follow(untilTaken.signal, watch).catch((error: unknown) => {
      if (!taken.signal.aborted) throw error
    })
    signal?.throwIfAborted()
    return await calls.takeOver(untilLost.signal)
  } catch (error) {
    signal?.throwIfAborted()
    if (lost.signal.aborted || isCode(error, 'ERR_DURLOG_FENCED')) return undefined
    throw error
  } finally {
    untilTaken.forget()
    untilLost.forget()
    await lease?.close()
  }
}
