/** An open folder of streams in the process (or thread) that owns it: orders appends and makes checkpoints. */

import { closedStreamsError, type DurlogError } from '../../errors.js'
import { clearTimeout, setTimeout } from '../../timers.js'
import { type CheckpointContext, Checkpointer, dueBytes } from '../checkpoint/checkpoint.js'
import { checkpointError, logChangedError } from '../checkpoint/checkpoint-errors.js'
import type { OpenFolder } from '../files/open-folder.js'
import type { ResolvedStreamsOptions } from '../port/options.js'
import { addChange, type StreamsPort } from '../port/port.js'
import type { StreamChange, StreamEncoding } from '../port/types.js'
import type { StreamState } from '../state/state.js'
import type { StreamTable } from '../state/table.js'
import { Expiry } from './expiry.js'
import { Sequencer } from './sequencer.js'

/** Appends wait if the records in memory take this many times `checkpointBytes`. */
const MAX_MEM_TABLE_CHECKPOINTS = 8
/** The pause before a checkpoint, as a multiple of the duration of the last one. No pause if `dueBytes` is reached. */
const PAUSE = 3

/** For trials of checkpoints: kill or stop a checkpoint at a given step. */
export type StepHooks = Pick<CheckpointContext, 'onStep' | 'stepLimit'>

export class StreamStore {
  readonly dir: string
  readonly changes: StreamChange[] = []
  readonly folder: OpenFolder
  readonly sequencer: Sequencer
  onEvent: StreamsPort['onEvent'] = () => {}
  readonly #options: ResolvedStreamsOptions
  readonly #expiry: Expiry
  readonly #checkpointer: Checkpointer
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  /** The duration of the last checkpoint. */
  #durationMs = 0
  /** The error of the last checkpoint; undefined if it stored everything. */
  checkpointFailure: DurlogError | undefined
  /** The error of the last checkpoint; undefined if it stored all streams that are not blocked. */
  #failure: DurlogError | undefined
  #closing: Promise<void> | undefined
  /** Every append has settled. Checkpoints are no longer begun automatically. */
  #isDrained = false

  constructor(opened: OpenFolder, options: ResolvedStreamsOptions, hooks: StepHooks) {
    const { log, files, table, position } = opened
    this.dir = files.dir
    this.folder = opened
    this.#options = options
    const level = options.durability === 'full' ? 'full' : 'sync'
    const onChanged = (change: StreamChange): void => {
      addChange(this.changes, change)
      this.onEvent('changed', change)
    }
    this.#checkpointer = new Checkpointer(
      { ...opened, level, encoding: options.encoding, onChanged, ...hooks },
      position,
    )
    this.sequencer = new Sequencer(
      {
        log,
        durability: options.durability,
        encoding: options.encoding,
        maxMemTableBytes: MAX_MEM_TABLE_CHECKPOINTS * options.checkpointBytes,
        reload: () => this.#reload(),
        onAppended: () => this.#onAppended(),
        checkpointError: () => this.#failure,
      },
      table,
    )
    opened.catalog.onFileChanged((error) => this.sequencer.refuse(error))
    if (!this.isSynced) log.on('synced', () => this.table.synced())
    this.#expiry = new Expiry(this.sequencer, () => this.checkpointSoon())
  }

  /** The encoding of streams that an append creates. */
  get encoding(): StreamEncoding {
    return this.#options.encoding
  }

  /** Whether every record that readers may see is synced. */
  get isSynced(): boolean {
    const { durability } = this.#options
    return durability === 'sync' || durability === 'full' || durability === 'replicated'
  }

  /** The current table. It is replaced when the streams are loaded again. */
  get table(): StreamTable {
    return this.sequencer.table
  }

  /** The stream, if callers may see it and it has not expired. */
  visible(name: string): StreamState | undefined {
    return this.#expiry.find(name)
  }

  /** Deletes the stream if it has expired. The deletion is stored before the next submitted change. */
  removeExpired(name: string): void {
    this.#expiry.removeIfExpired(name)
  }

  /** Throws ERR_DURLOG_CLOSED if the folder is closed. */
  checkOpen(): void {
    if (this.#closing !== undefined) throw closedStreamsError(this.dir)
  }

  /** If a checkpoint is in progress, waits for the next one: the current one may not include the latest appends. */
  async checkpoint(): Promise<void> {
    this.checkOpen()
    await this.#running?.catch(() => {})
    await this.#run()
  }

  /** Schedules a checkpoint if streams have changed, as an append does. */
  checkpointSoon(): void {
    if (this.table.dirty.size > 0) this.#onAppended()
  }

  /** If `checkpoint` is false, the next process that opens the folder makes the checkpoint. */
  close(checkpoint = true): Promise<void> {
    this.#closing ??= this.#close(checkpoint)
    return this.#closing
  }

  async #close(checkpoint: boolean): Promise<void> {
    this.#expiry.close()
    const { log, catalog, cursor } = this.folder
    try {
      // First, because checkpoints must still make room for the appends that wait for it.
      await this.sequencer.close(closedStreamsError(this.dir))
      this.#isDrained = true
      clearTimeout(this.#timer)
      // When a checkpoint ends, a call of `checkpoint` that has waited for it may begin the next one.
      while (this.#running !== undefined) await this.#running.catch(() => {})
      const isDirty = this.table.dirty.size > 0
      if (checkpoint && isDirty && this.#checkpointer.latched === undefined) await this.#run()
    } finally {
      this.table.wakeAll()
      this.folder.storage.close()
      await cursor.close()
      await catalog.close().finally(() => log.close())
    }
  }

  /** Begins a checkpoint at once if enough bytes wait for it, otherwise after a pause. */
  #onAppended(): void {
    if (this.#isDrained || this.#running !== undefined || this.#checkpointer.latched !== undefined) return
    const { checkpointBytes, checkpointMs } = this.#options
    const { memTable, dirty } = this.table
    if (memTable.bytes >= dueBytes(checkpointBytes, dirty.size) && this.#failure === undefined) this.#begin()
    else this.#timer ??= setTimeout(() => this.#begin(), Math.max(checkpointMs, PAUSE * this.#durationMs)).unref()
  }

  #begin(): void {
    if (this.#running !== undefined) return
    // The failure is reported by the event `checkpointFailed`.
    this.#run().catch(() => {})
  }

  #run(): Promise<void> {
    this.#running ??= this.#checkpointOnce().finally(() => {
      this.#running = undefined
      this.checkpointSoon()
      this.sequencer.drain()
    })
    return this.#running
  }

  async #checkpointOnce(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const sequencer = this.sequencer
    const { rollbacks } = sequencer
    const checkCurrent = (): void => {
      if (!sequencer.refresh() || sequencer.rollbacks !== rollbacks) throw logChangedError(sequencer.writeFailure)
    }
    try {
      checkCurrent()
      const { failure, ...done } = await this.#checkpointer.run(sequencer.table, sequencer.position, checkCurrent)
      this.#failure = undefined
      this.checkpointFailure = failure
      this.#durationMs = done.durationMs
      if (failure === undefined) this.onEvent('checkpoint', done)
    } catch (cause) {
      this.#failure = checkpointError(cause)
      this.checkpointFailure = this.#failure
    }
    if (this.checkpointFailure === undefined) return
    this.onEvent('checkpointFailed', this.checkpointFailure)
    throw this.checkpointFailure
  }

  /**
   * Loads the table again after a failed write. A running checkpoint must end first, because it uses streams of the old
   * table.
   */
  async #reload(): Promise<StreamTable> {
    await this.#running?.catch(() => {})
    return this.folder.load()
  }
}
