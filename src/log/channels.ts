/** The messages that a log publishes on `node:diagnostics_channel`. Without a subscriber no message is built. */
import { type Channel, channel } from 'node:diagnostics_channel'
import type { DurlogError } from '../errors.js'
import type { LogRecovery } from '../types.js'

export interface CommitMessage {
  commits: number
  records: number
  bytes: number
  nextSeq: number
  syncedSeq: number
}

interface Messages {
  /**
   * The number of commits that have ended since the last message, their records and bytes, and the log's current ends.
   */
  commit: CommitMessage
  /** A new segment became the active one; `firstSeq` is its first seq. */
  rotate: { firstSeq: number }
  /** Segments were removed: `from` and `firstSeq` are the log's first seq before and after the removal. */
  trim: { from: number; firstSeq: number }
  latched: { error: DurlogError }
  /** The log was opened. */
  recovered: { recovery: LogRecovery }
}

const channels: { [Name in keyof Messages]: Channel } = {
  commit: channel('durlog:commit'),
  rotate: channel('durlog:rotate'),
  trim: channel('durlog:trim'),
  latched: channel('durlog:latched'),
  recovered: channel('durlog:recovered'),
}

/**
 * If `durlog:${name}` has a subscriber, publishes the result of `message` together with the log's folder and UUID.
 * Publishes nothing if the result is undefined.
 */
export function publish<Name extends keyof Messages>(
  name: Name,
  { dir, uuid }: { dir: string; uuid: string },
  message: () => Messages[Name] | undefined,
): void {
  const to = channels[name]
  if (!to.hasSubscribers) return
  const made = message()
  if (made !== undefined) to.publish({ dir, uuid, ...made })
}
