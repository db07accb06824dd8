/** The folder into which an archive is restored: the mark of the unfinished restore, and the files of the log. */
import { readdirSync } from 'node:fs'
import { DurlogError } from '../errors.js'
import { isWhole } from '../options/checks.js'
import { isSeq, REJOIN_CHECKS, type RejoinMark, unfinishedRejoin } from '../ship/rejoin.js'
import { writeGeneration } from '../ship/write-generation.js'
import { makeLogFolder, streamsLog } from '../streams/files/main-log.js'
import type { StreamEncoding } from '../streams/port/types.js'
import { type MarkChecks, markFolder } from '../support/restore-folder.js'
import { segmentSeqs } from '../support/segment-name.js'
import type { LoadedCheckpoint } from './checkpoint-restore.js'
import type { ChosenArchive } from './choose.js'
import { sharedEnd } from './manifest.js'
import { RestoredFiles } from './restored-files.js'

/** The properties of an unfinished restore, which a run that continues it must share. */
export interface ArchiveRestoreMark extends RejoinMark {
  archive: string
  /** The generation of the history whose records are restored. */
  generation: number
  first: number
  /** The generation of the restored log. */
  cuts: number
  /** Of streams, when their checkpoint is restored: it needs the main log from this seq on. */
  from?: number
}

export const MARK_CHECKS: MarkChecks<ArchiveRestoreMark> = {
  ...REJOIN_CHECKS,
  archive: (value) => typeof value === 'string',
  generation: isWhole,
  first: isWhole,
  cuts: isWhole,
  from: isSeq,
}

export class RestoreTarget {
  /** The folder of the log: the folder of the restore, or a folder in it if the log is the main log of streams. */
  readonly dir: string
  /** The encoding of the streams whose main log is restored; undefined for any other log. */
  readonly streams: StreamEncoding | undefined
  readonly files: RestoredFiles
  readonly #folder: string
  #mark: ArchiveRestoreMark
  /** Whether a history of the archive was accepted by this run. */
  #isChosen = false

  private constructor(
    folder: string,
    dir: string,
    mark: ArchiveRestoreMark,
    streams: StreamEncoding | undefined,
    files: RestoredFiles,
  ) {
    this.#folder = folder
    this.#mark = mark
    this.streams = streams
    this.dir = dir
    this.files = files
  }

  /**
   * Begins a restore of the archive at `url` into `folder`, or continues the one that has the mark `before`. `load`
   * restores a checkpoint of streams.
   */
  static async open(
    folder: string,
    before: ArchiveRestoreMark | undefined,
    { url, chosen }: { url: string; chosen: ChosenArchive },
    load: () => Promise<LoadedCheckpoint | undefined>,
  ): Promise<RestoreTarget> {
    const { manifest, uuid } = chosen
    const { generation } = manifest.history
    const first = manifest.entries[0]?.firstSeq ?? 0
    let mark = before ?? { archive: url, generation, first, cuts: await newGeneration(chosen) }
    if (mark.cutTo !== undefined) throw unfinishedRejoin(folder)
    if (mark.archive !== url) throw otherError(folder, mark)
    if (before === undefined) await markFolder(folder, mark)
    const last = await manifest.last()
    // Without a piece, the archive has only checkpoints of streams.
    const isOfStreams = last === undefined || last.streams !== undefined
    const dir = isOfStreams ? streamsLog(folder) : folder
    makeLogFolder(dir)
    // Of an interrupted restore, either the checkpoint is complete, or no record is restored yet.
    if (isOfStreams && mark.from === undefined && segmentSeqs(readdirSync(dir)).length === 0) {
      mark = { ...mark, generation, first, ...(await load()) }
      await markFolder(folder, mark)
    }
    const files = await RestoredFiles.open(dir, mark.first)
    // An earlier run may have died while it wrote the generation.
    if (files.next === mark.first) await writeGeneration(folder, dir, { uuid, generation: mark.cuts })
    return new RestoreTarget(folder, dir, mark, last?.streams, files)
  }

  /**
   * Accepts the history whose records are restored next. It must hold the records that are already restored. Throws
   * ERR_DURLOG_NOT_EMPTY, or ERR_DURLOG_DESTINATION_OTHER if this run has accepted another one.
   */
  async accept({ histories, manifest }: ChosenArchive): Promise<void> {
    const { generation } = manifest.history
    if (generation !== this.#mark.generation) {
      if (sharedEnd(histories, manifest.history, this.#mark.generation) < this.files.next)
        throw this.#isChosen ? truncatedError(generation) : otherError(this.#folder, this.#mark)
      await this.#setMark({ ...this.#mark, generation })
    }
    this.#isChosen = true
  }

  /** Of streams whose checkpoint was restored: the first seq of the main log that they need; otherwise undefined. */
  get from(): number | undefined {
    return this.#mark.from
  }

  /** Whether at least one record is restored. */
  get hasRecords(): boolean {
    return this.files.next > this.#mark.first
  }

  /**
   * Raises the generation of the restored log to `generation`, which is too low if the archive has got a new history.
   */
  async raiseGeneration(uuid: string, generation: number): Promise<void> {
    if (generation <= this.#mark.cuts) return
    await writeGeneration(this.#folder, this.dir, { uuid, generation })
    await this.#setMark({ ...this.#mark, cuts: generation })
  }

  async #setMark(mark: ArchiveRestoreMark): Promise<void> {
    await markFolder(this.#folder, mark)
    this.#mark = mark
  }
}

/** The generation of a log that is restored now: higher than that of each log in the archive. */
export async function newGeneration({ histories, manifest }: ChosenArchive): Promise<number> {
  const last = await manifest.last()
  return Math.max(histories.at(-1)?.generation ?? 0, last?.generation ?? 0) + 1
}

function otherError(folder: string, { archive, generation }: ArchiveRestoreMark): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_EMPTY',
    `${folder} holds an unfinished restore of ${archive}, generation ${generation}. Finish it with the same arguments, or use another folder`,
    { path: folder },
  )
}

function truncatedError(generation: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_OTHER',
    `restored records were truncated from the log, so the archive has a new history of generation ${generation}: restore that history into another folder`,
  )
}
