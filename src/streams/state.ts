/** One stream as the owner of the folder knows it. */
import { EMPTY } from './entry.js'
import { fileNameFrom, fileNameOf } from './file-name.js'
import { lifeOf, type StreamMeta } from './meta.js'

/** The content of one file of a stream as of its last checkpoint. Never changed, only replaced. */
export interface FileDisk {
  /** The seqs in the file: from `first` to `next` - 1. */
  readonly first: number
  readonly next: number
  /** Where the last of them ends. */
  readonly bytes: number
  /** CRC-32C of these bytes. */
  readonly crc: number
  /** The index after its last full block. */
  readonly index: Buffer
  /** Of a file of a stream with retention that has records: the time of its first record, and the latest time. */
  readonly times?: readonly [firstMs: number, lastMs: number] | undefined
}

/** The content of the stream's newest file. Without retention it is the only one. */
export interface StreamDisk extends FileDisk {
  /** With retention: the earlier files, the oldest first. */
  readonly older?: readonly FileDisk[] | undefined
  /** With retention: the first seqs of files that are not part of the stream any more. The next checkpoint removes them. */
  readonly dropped?: readonly number[] | undefined
}

/** Of a stream that no checkpoint has stored. */
export const NO_DISK: StreamDisk = { first: 0, next: 0, bytes: 0, crc: 0, index: EMPTY }

/** The appends of one producer to one stream. */
export interface ProducerState {
  epoch: number
  /** The seq of its last append. */
  seq: number
  /** The stream's seqs of its last appends in this epoch, at most RECENT_APPENDS, oldest first. */
  recent: number[]
}

/** A stream at the position of a checkpoint. */
export interface StreamCapture {
  next: number
  ended: boolean
  /** Deleted, and kept for its forks. */
  gone: boolean
  /** The greatest one. */
  writerSeq: string | undefined
  producers: ReadonlyMap<string, ProducerState>
  /** With retention: the oldest seq that the checkpoint keeps. */
  first?: number | undefined
}

/** Of a stream that replaces none. */
export const NO_FILES: ReadonlySet<string> = new Set()

/** Of a stream without producers. */
export const NO_PRODUCERS: ReadonlyMap<string, ProducerState> = new Map()

export const RECENT_APPENDS = 16

export class StreamState {
  readonly name: string
  /** The position of the entry that made it: tells it from another stream of the same name. */
  readonly created: number
  readonly meta: StreamMeta
  /** The stream whose records it begins with. */
  source: StreamState | undefined
  /** The names of files that deleted streams of the same name may have left. */
  replaces: ReadonlySet<string>
  disk: StreamDisk
  /** The positions of the records from `disk.next` on. */
  tail: number[] = []
  next: number
  /** The records before it have reached the level. */
  visible: number
  /** Its creation has reached the level. */
  known = false
  ended = false
  /** The end has reached the level. */
  endVisible = false
  deleted = false
  gone = false
  /** Streams that begin with its records. */
  forks = 0
  writerSeq: string | undefined
  /** When it was last appended to or read, by `performance.now()`; when it was loaded, if it was not used since. */
  usedMs: number = performance.now()
  producers: ReadonlyMap<string, ProducerState> = NO_PRODUCERS
  /** The number of checkpoints that had begun before its last change; -1 before the first change. */
  changedAfter = -1
  /** Set while a checkpoint has yet to store it and it has changed since the checkpoint began. */
  capture: StreamCapture | undefined
  /** Only of a stream that a checkpoint has stored: others have no need of it. */
  #fileName: string | undefined

  constructor(
    name: string,
    created: number,
    disk: StreamDisk,
    replaces: ReadonlySet<string>,
    meta: StreamMeta,
    source: StreamState | undefined,
  ) {
    this.name = name
    this.created = created
    this.meta = meta
    this.source = source
    this.disk = disk
    this.next = disk.next
    this.visible = disk.next
    this.replaces = replaces
  }

  /**
   * The name of the file that begins with the seq `first`, and of its index, without an extension. `isUsedAgain`: the next
   * checkpoints will ask for it too.
   */
  fileName(first: number, isUsedAgain = false): string {
    const fileName = this.#fileName ?? fileNameOf(this.name)
    if (isUsedAgain) this.#fileName = fileName
    return this.meta.retention === undefined ? fileName : fileNameFrom(fileName, first)
  }

  /** The oldest seq that can be read. */
  get firstSeq(): number {
    let first = this.#ownFirstSeq
    // A chain of forks may be longer than the stack.
    for (let { source, meta } = this as StreamState, own = first; source !== undefined && own === meta.fork?.seq; ) {
      own = source.#ownFirstSeq
      first = Math.min(first, own)
      ;({ source, meta } = source)
    }
    return first
  }

  /** The oldest seq in files of the stream that can be read. */
  get #ownFirstSeq(): number {
    const { disk } = this
    return disk.older === undefined ? disk.first : firstWithoutGap(disk, disk.older)
  }

  /** Whether callers may know it. */
  get exists(): boolean {
    return this.known && !this.gone
  }

  get isExpired(): boolean {
    return this.lifeMs <= 0
  }

  /** The time for which it lives if it is not used. */
  get lifeMs(): number {
    return lifeOf(this.meta, this.usedMs)
  }

  /** The time to live begins again. */
  use(): void {
    if (this.meta.ttlMs !== undefined) this.usedMs = performance.now()
  }

  /** The stream at this moment. */
  copy(): StreamCapture {
    const { next, ended, gone, writerSeq } = this
    if (this.producers.size === 0) return { next, ended, gone, writerSeq, producers: NO_PRODUCERS }
    const producers = new Map<string, ProducerState>()
    for (const [id, { epoch, seq, recent }] of this.producers) producers.set(id, { epoch, seq, recent: [...recent] })
    return { next, ended, gone, writerSeq, producers }
  }
}

/** The first of the files up to the newest one between which no record is missing. */
function firstWithoutGap(newest: FileDisk, older: readonly FileDisk[]): number {
  let { first } = newest
  for (let at = older.length - 1; older[at]?.next === first; at--) first = (older[at] as FileDisk).first
  return first
}
