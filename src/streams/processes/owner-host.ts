/**
 * Runs the owner in a thread of this process, so that a blocked event loop of the program does not delay other
 * processes.
 */
import { join } from 'node:path'
import { closedStreamsError, DurlogError, isCode } from '../../errors.js'
import type { AppendDurability } from '../../index.js'
import { native } from '../../native/native.js'
import { loaded, ofFileSystem } from '../../support/file-system-error.js'
import { WorkerThread } from '../../support/worker-thread.js'
import { clock } from '../../timers.js'
import { FolderFiles } from '../files/folder-files.js'
import type { StreamsOptions } from '../port/types.js'
import { isExclusive } from './address.js'
import { receivedError } from './messages.js'
import type { Owner } from './owner.js'
import type { FromOwner, ToOwner } from './owner-worker.js'

// Undefined in a bundle, which does not contain the file.
const WORKER: string | undefined = typeof __dirname === 'string' ? join(__dirname, 'owner-worker.js') : undefined

/** The time from an owner's lock to its listening socket, in which it creates and recovers the log. */
export const LISTEN_WITHIN_MS = 30_000

export class OwnerHost {
  readonly #dir: string
  #options: StreamsOptions
  #thread: WorkerThread<ToOwner, FromOwner> | undefined
  /** The owner, if it runs without a thread. */
  #owner: Owner | undefined
  #starting: Promise<Owner> | undefined
  #owns = false
  /** The folder is closed: this process must not become its owner any more. */
  #isClosed = false

  constructor(dir: string, options: StreamsOptions) {
    this.#dir = dir
    this.#options = options
  }

  get owns(): boolean {
    return this.#owns
  }

  /**
   * Notes that the folder exists, and the durability that the processes use, which an owner in this process must use
   * too. If the folder is moved away, this process does not replace it by an empty one.
   */
  joined(durability: AppendDurability): void {
    this.#options = { ...this.#options, durability, create: false }
  }

  /** Starts the thread, so that it can take the folder without delay. */
  prepare(): void {
    if (this.#thread !== undefined) return
    const onEnded = (cause?: unknown): FromOwner => {
      if (this.#thread === thread) {
        this.#owns = false
        this.#thread = undefined
      }
      const reason = cause === undefined ? '' : `: ${(cause as Error).message}`
      // Without a free descriptor, the thread cannot load its modules.
      const known = cause === undefined ? undefined : ofFileSystem(cause)
      const error = new DurlogError(
        known instanceof DurlogError ? known.code : 'ERR_DURLOG_IO',
        `the thread that owns the folder ${this.#dir} has ended${reason}: open the folder again`,
      )
      return { kind: 'failed', error: { code: error.code, message: error.message } }
    }
    const thread = WorkerThread.start<ToOwner, FromOwner>(WORKER, 'durlog-streams', onEnded)
    this.#thread = thread
  }

  /**
   * Tries to become the owner. Returns false while another owner may still begin to listen, and throws afterwards.
   * `other` is set if a process that owns another folder answered at this address. If that process also holds this
   * folder's lock, no owner will ever listen here. `client` is the client of this process.
   */
  async becomeOwner(client: string, startMs: number, waitMs: number, other: DurlogError | undefined): Promise<boolean> {
    try {
      await this.#own(client)
      return true
    } catch (error) {
      if (!isCode(error, 'ERR_DURLOG_LOCKED')) throw error
      const isAlone = other !== undefined || (await isExclusive(this.#dir, error.ownerPid))
      const within = isAlone ? waitMs : Math.max(waitMs, LISTEN_WITHIN_MS)
      if (clock.now() - startMs > within) throw other ?? error
      return false
    }
  }

  /** The pid of the process that has the folder's lock; 0 if it is not known. */
  async lockedBy(): Promise<number> {
    try {
      const lock = await native.lockLog(new FolderFiles(this.#dir).log)
      lock.release()
      return 0
    } catch (error) {
      return isCode(error, 'ERR_DURLOG_LOCKED') ? (error.ownerPid ?? 0) : 0
    }
  }

  async #own(client: string): Promise<void> {
    // If the owner of this process could not open the folder, it has stopped listening. Rejects with the reason.
    if (this.#owns) await this.#leave(client)
    if (this.#isClosed) throw closedStreamsError(this.#dir)
    const prepared = this.#thread
    this.prepare()
    if (this.#thread === undefined) {
      this.#starting = loaded(import('./owner.js')).then(({ startOwner }) =>
        startOwner(this.#dir, this.#options, client),
      )
      this.#owner = await this.#starting
    } else
      await this.#start(client).catch((error: unknown) => {
        if (prepared === undefined || this.#thread === prepared || this.#isClosed) throw error
        // A thread that was started earlier has ended: it may have found no free descriptor then.
        this.prepare()
        return this.#start(client)
      })
    this.#owns = true
  }

  #start(client: string): Promise<void> {
    return this.#ask({ kind: 'start', dir: this.#dir, options: this.#options, client })
  }

  /** Closes the folder if this process is its owner or becomes it meanwhile, and ends the thread. */
  close(client: string): Promise<void> {
    this.#isClosed = true
    return this.#leave(client)
  }

  async #leave(client: string): Promise<void> {
    try {
      // Without a thread that can be ended, the owner would keep the folder open.
      await this.#starting?.catch(() => {})
      if (!this.#owns) return
      this.#owns = false
      if (this.#owner !== undefined) await this.#owner.close(client)
      else if (this.#thread !== undefined) await this.#ask({ kind: 'close', client })
    } finally {
      const thread = this.#thread
      this.#thread = undefined
      await thread?.terminate()
    }
  }

  async #ask(message: ToOwner): Promise<void> {
    const answered = await (this.#thread as WorkerThread<ToOwner, FromOwner>).request(message)
    if (answered.kind === 'failed') throw receivedError(answered.error)
  }
}
