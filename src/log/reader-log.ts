/** A log opened for reading only, without the lock: another process or thread may be writing it. */
import { atCaller } from '../caller-stack.js'
import type { NativeBounds } from '../native/reading.js'
import type { ResolvedOptions } from '../options/open-options.js'
import { FolderSource } from '../reader/folder-source.js'
import { LogReads } from '../reader/log-reads.js'
import type { ReadOnlyLog, ReadOnlyStats } from '../types.js'
import { DiskUse } from './disk-use.js'
import { LogFace } from './log-face.js'

export class ReaderLog extends LogFace implements ReadOnlyLog {
  readonly readOnly = true
  readonly #source: FolderSource
  readonly #reads: LogReads
  #generation: number

  constructor(dir: string, bounds: NativeBounds, { salvage, codec }: ResolvedOptions) {
    const source = new FolderSource(dir, salvage, bounds)
    const reads = new LogReads(source, false, codec)
    super({ source, reads, sync: undefined })
    this.#generation = bounds.generation
    this.#source = source
    this.#reads = reads
  }

  get firstSeq(): number {
    return this.#source.bounds.firstSeq
  }

  get nextSeq(): number {
    return this.#source.bounds.nextSeq
  }

  get syncedSeq(): number {
    return this.#source.bounds.syncedEnd - 1
  }

  get generation(): number {
    return this.#generation
  }

  refresh(): Promise<void> {
    return atCaller(this.#refresh())
  }

  async #refresh(): Promise<void> {
    this.#reads.check()
    await this.#source.refresh()
    this.#generation = this.#source.bounds.generation
  }

  stats(): ReadOnlyStats {
    const current = this.#source.lookAtBounds()
    // A new object, so that no file length is cached: another process may cut the log and reuse the name of a file.
    return new DiskUse(this.dir).addTo(
      {
        current,
        firstSeq: this.firstSeq,
        nextSeq: this.nextSeq,
        syncedSeq: this.syncedSeq,
        ...this.#source.commits(),
        ...this.#source.counts,
        cursors: LogFace.openCursors(this),
      },
      ['diskBytes', 'segments'],
    )
  }

  close(): Promise<void> {
    return atCaller(this.#close())
  }

  async #close(): Promise<void> {
    await LogFace.refuseReads(this)
    this.#source.end()
    await this.#reads.close()
  }
}
