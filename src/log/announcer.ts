/** Emits the events of a log that is open for writing, and publishes its messages on diagnostics channels. */

import { type Channel, channel } from 'node:diagnostics_channel'
import type { EventEmitter } from 'node:events'
import type { DurlogError } from '../errors.js'
import { Counter, type NativeWriter } from '../native/log.js'
import { nextTick } from '../timers.js'
import type { CursorOverrun, LogEvents, LogRecovery, ReplicationStall } from '../types.js'
import type { PipelineListener } from './append/write-pipeline.js'
import type { ChangeListener } from './maintenance/file-changes.js'

interface AnnouncedLog extends EventEmitter<LogEvents> {
  readonly dir: string
  readonly uuid: string
  readonly recovery: LogRecovery
  readonly firstSeq: number
  readonly nextSeq: number
  readonly syncedSeq: number
}

export class Announcer implements Omit<PipelineListener, 'onReadable'>, ChangeListener {
  readonly #log: AnnouncedLog
  readonly #native: NativeWriter
  /** The counts in the last message to subscribers. */
  #published = { commits: 0, records: 0, bytes: 0 }
  /** The exclusive seq up to which `synced` has been emitted. */
  #syncedEnd: number
  #closing = false

  constructor(log: AnnouncedLog, native: NativeWriter) {
    this.#log = log
    this.#native = native
    this.#syncedEnd = this.#newSyncedEnd()
  }

  onOpened(): void {
    publish('recovered', this.#log, () => ({ recovery: this.#log.recovery }))
  }

  onMoved(): void {
    publish('commit', this.#log, () => this.#newCommits())
    const synced = this.#newSyncedEnd()
    if (synced <= this.#syncedEnd) return
    this.#syncedEnd = synced
    this.#log.emit('synced', synced - 1)
  }

  onRotated(firstSeq: number): void {
    publish('rotate', this.#log, () => ({ firstSeq }))
    this.#log.emit('rotated', firstSeq)
  }

  onLatched(error: DurlogError): void {
    publish('latched', this.#log, () => ({ error }))
    this.#log.emit('latched', error)
  }

  onStalled(stall: { pid: number; seq: number }): void {
    this.#log.emit('stalled', stall)
  }

  onReplicationStalled(stall: ReplicationStall): void {
    nextTick(() => this.#log.emit('replicationStalled', stall))
  }

  onReplicationFailed(error: DurlogError): void {
    nextTick(() => this.#log.emit('replicationFailed', error))
  }

  onCut(nextSeq: number): void {
    this.#syncedEnd = Math.min(this.#syncedEnd, nextSeq)
  }

  onTrimmed(from: number): void {
    publish('trim', this.#log, () => ({ from, firstSeq: this.#log.firstSeq }))
  }

  onOverrun(overrun: CursorOverrun): void {
    nextTick(() => this.#log.emit('overrun', overrun))
  }

  onRetentionFailed(error: DurlogError): void {
    nextTick(() => this.#log.emit('retentionFailed', error))
  }

  /** The log is being closed: the core's counts are not available any more. */
  onClosing(): void {
    this.#closing = true
  }

  #newSyncedEnd(): number {
    return this.#native.counters[Counter.syncedEnd] as number
  }

  /** Undefined if no commit has ended since the last message. */
  #newCommits(): CommitMessage | undefined {
    if (this.#closing) return undefined
    const { commits, committedRecords: records, committedBytes: bytes } = this.#native.stats()
    const before = this.#published
    if (commits === before.commits) return undefined
    this.#published = { commits, records, bytes }
    return {
      commits: commits - before.commits,
      records: records - before.records,
      bytes: bytes - before.bytes,
      nextSeq: this.#log.nextSeq,
      syncedSeq: this.#log.syncedSeq,
    }
  }
}

interface CommitMessage {
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
function publish<Name extends keyof Messages>(
  name: Name,
  { dir, uuid }: { dir: string; uuid: string },
  message: () => Messages[Name] | undefined,
): void {
  const to = channels[name]
  if (!to.hasSubscribers) return
  const made = message()
  if (made !== undefined) to.publish({ dir, uuid, ...made })
}
