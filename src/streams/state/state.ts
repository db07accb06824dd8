/** The state of one stream in the owner of the folder. */
import type { DurlogError } from '../../errors.js'
import type { NativeFileDisk } from '../../native/stream-files.js'
import { clock } from '../../timers.js'
import { fileNameFrom, fileNameOf } from '../port/file-name.js'
import { lifeOf, type StreamMeta } from '../port/meta.js'
import type { StreamView } from '../port/port.js'
import { EMPTY } from './entry.js'
import { ForkChain, noteLoss } from './fork-chain.js'
import { Positions } from './positions.js'

/** The content of one file of a stream as of its last checkpoint. It is never changed, only replaced. */
export interface FileDisk extends NativeFileDisk {
  readonly index: Buffer
  /** Only with retention and if the file has records: the time of its first record, and its latest time. */
  readonly times?: readonly [firstMs: number, lastMs: number] | undefined
}

/**
 * The content of the stream's files: the members of `FileDisk` describe the newest one. Without retention it is the
 * only one.
 */
export interface StreamDisk extends FileDisk {
  /** With retention: the earlier files, the oldest first. */
  readonly older?: readonly FileDisk[] | undefined
  /**
   * With retention: the first seqs of files that do not belong to the stream any more. The next checkpoint removes
   * them.
   */
  readonly dropped?: readonly number[] | undefined
}

/** The `disk` of a stream that no checkpoint has stored. */
export const NO_DISK: StreamDisk = { first: 0, next: 0, bytes: 0, crc: 0, index: EMPTY }

/** The appends of one producer to one stream. */
export interface ProducerState {
  epoch: number
  /** The `producer.seq` of its last append. */
  seq: number
  /** The seqs in the stream of its last appends in this epoch, at most RECENT_APPENDS, the oldest first. */
  recent: number[]
}

/** A copy of the state that a checkpoint stores. */
export interface StreamSnapshot {
  next: number
  ended: boolean
  endedFrom: number | undefined
  /** The stream is deleted, but kept because forks use its records. */
  softDeleted: boolean
  /** The greatest one of all appends. */
  writerSeq: string | undefined
  producers: ReadonlyMap<string, ProducerState>
  /** The number of forks. */
  forks: number
  updatedMs: number | undefined
  /** With retention: the oldest seq that the checkpoint keeps. */
  first?: number | undefined
}

/** The `producers` of a stream that has none. */
export const NO_PRODUCERS: ReadonlyMap<string, ProducerState> = new Map()

export const RECENT_APPENDS = 16

export class StreamState implements StreamView {
  readonly name: string
  readonly created: number
  readonly meta: StreamMeta
  /** The deleted stream of the same name whose files, and those that it has left, the next checkpoint removes. */
  replaced: StreamState | undefined
  /** The positions of the records that are not in a file yet, from seq `disk.next` on. */
  unflushed: Positions = new Positions()
  /**
   * Why the last checkpoint could not write the stream's files; undefined if it could. The records after `disk.next`
   * stay in the main log.
   */
  blocked: DurlogError | undefined
  /**
   * Of a stream of the catalog whose files could not be written: the position of its record `disk.next`. Undefined when
   * its records have been loaded.
   */
  keptFrom: number | undefined
  /** The seq of the next append. */
  next: number
  visible: number
  /** The creation has reached the durability level. */
  creationVisible = false
  ended = false
  endVisible = false
  /** The seq that the stream had before the last call that changed it. */
  changedFrom = 0
  /** The seq before the call that has ended the stream; undefined if it had no records, or has not ended. */
  endedFrom: number | undefined
  softDeleted = false
  /** Deleted, and not kept for forks. */
  removed = false
  /** The number of forks of this stream. */
  forks = 0
  writerSeq: string | undefined
  /**
   * The time of the last record that was appended to the stream itself, or of its creation. Undefined if an older
   * version of durlog has written the catalog and the stream has not changed since.
   */
  updatedMs: number | undefined
  /**
   * The time of the last append or read, by `clock.now()`; of a stream that was not used since, the time when it
   * was loaded.
   */
  usedMs: number = clock.now()
  producers: ReadonlyMap<string, ProducerState> = NO_PRODUCERS
  /** The number of checkpoints that had begun before the last change of the stream; -1 before its first change. */
  changedAfter = -1
  /**
   * The state that the checkpoint in progress stores. Set by the first change after the checkpoint began, or when the
   * checkpoint comes to this stream. Undefined if no checkpoint has to store the stream.
   */
  snapshot: StreamSnapshot | undefined
  #source: StreamState | undefined
  #chain: ForkChain<StreamState> | undefined
  #disk: StreamDisk
  /** The oldest seq that can be read from the stream's own files. */
  #ownFirstSeq: number
  /** The file name without a seq, which is kept from the first checkpoint on that adds records to the stream. */
  #fileName: string | undefined

  constructor(name: string, created: number, disk: StreamDisk, meta: StreamMeta, source: StreamState | undefined) {
    this.name = name
    this.created = created
    this.meta = meta
    this.#disk = disk
    this.#ownFirstSeq = ownFirstSeqOf(disk)
    if (source !== undefined) this.forkFrom(source)
    this.next = disk.next
    this.visible = disk.next
  }

  /**
   * The name, without an extension, of the file that begins with the seq `first`, and of its index. `isUsedAgain` says
   * that the next checkpoints need the name too, so it is kept.
   */
  fileName(first: number, isUsedAgain = false): string {
    const fileName = this.#fileName ?? fileNameOf(this.name)
    if (isUsedAgain) this.#fileName = fileName
    return this.meta.retention === undefined ? fileName : fileNameFrom(fileName, first)
  }

  get disk(): StreamDisk {
    return this.#disk
  }

  set disk(disk: StreamDisk) {
    const before = this.#ownFirstSeq
    this.#disk = disk
    this.#ownFirstSeq = ownFirstSeqOf(disk)
    if (this.forks > 0 && this.#ownFirstSeq !== before) noteLoss()
  }

  /** Of a fork: the stream with whose records it begins. */
  get source(): StreamState | undefined {
    return this.#source
  }

  /** Of a fork: the streams that have its records. */
  get chain(): ForkChain<StreamState> | undefined {
    return this.#chain
  }

  /** Sets the source of a fork. The source of the source must be set before. */
  forkFrom(source: StreamState): void {
    this.#source = source
    this.#chain = new ForkChain(source, this.start)
  }

  /** The seq of the first record that was appended to the stream itself. */
  get start(): number {
    return this.meta.fork?.seq ?? 0
  }

  /** The oldest seq that can be read, also from the sources of a fork. */
  get firstSeq(): number {
    const own = this.#ownFirstSeq
    return this.#chain === undefined || own !== this.start ? own : Math.min(own, this.#chain.baseFirstSeq)
  }

  /** Whether callers may see the stream. */
  get isVisible(): boolean {
    return this.creationVisible && !this.softDeleted
  }

  get lifeMs(): number {
    return lifeOf(this.meta, this.usedMs)
  }

  /** Restarts the stream's time to live. */
  use(): void {
    if (this.meta.ttlMs !== undefined) this.usedMs = clock.now()
  }

  /** A copy of the current state. */
  takeSnapshot(): StreamSnapshot {
    const { next, ended, endedFrom, softDeleted, writerSeq, forks, updatedMs } = this
    if (this.producers.size === 0)
      return { next, ended, endedFrom, softDeleted, writerSeq, producers: NO_PRODUCERS, forks, updatedMs }
    const producers = new Map<string, ProducerState>()
    for (const [id, { epoch, seq, recent }] of this.producers) producers.set(id, { epoch, seq, recent: [...recent] })
    return { next, ended, endedFrom, softDeleted, writerSeq, producers, forks, updatedMs }
  }
}

/** The oldest seq that can be read from the files that `disk` describes. */
function ownFirstSeqOf(disk: StreamDisk): number {
  return disk.older === undefined ? disk.first : firstWithoutGap(disk, disk.older)
}

/**
 * The first seq of the oldest file after which no record is missing. If another program has removed a file, the files
 * before it cannot be read.
 */
function firstWithoutGap(newest: FileDisk, older: readonly FileDisk[]): number {
  let { first } = newest
  for (let at = older.length - 1; older[at]?.next === first; at--) first = (older[at] as FileDisk).first
  return first
}
