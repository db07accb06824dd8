/** The cursors of a process that shares the folder. The owner has opened them for it. */
import { DurlogError, isCode } from '../../errors.js'
import type { CommitOptions, CursorOptions } from '../../index.js'
import { checkSeq } from '../../options/call-options.js'
import { checkCursorName, resolveCommitOptions, resolveCursorOptions } from '../../options/cursor-options.js'
import { checkCursorReadOptions } from '../options.js'
import type { CommittedRecord, StreamsCursor, StreamsReadOptions } from '../types.js'
import type { Link } from './link.js'
import { receivedValue } from './remote-stream.js'

export class RemoteCursors<V> {
  readonly #link: Link
  /**
   * The names of the cursors that are open, being opened or being closed. The value says whether the next owner must
   * open them.
   */
  readonly #names = new Map<string, boolean>()

  constructor(link: Link) {
    this.#link = link
  }

  async open(name: string, options?: CursorOptions): Promise<StreamsCursor<V>> {
    checkCursorName(name)
    const given = resolveCursorOptions(options)
    if (this.#names.has(name))
      throw new DurlogError(
        'ERR_DURLOG_LOCKED',
        `the cursor "${name}" is already open in this process: close it first`,
        {
          ownerPid: process.pid,
        },
      )
    this.#names.set(name, true)
    try {
      const position = (await this.#link.call({ op: 'openCursor', name, options: given })) as number
      return new RemoteCursor<V>(this.#link, name, position, () => this.#close(name))
    } catch (error) {
      this.#names.delete(name)
      throw error
    }
  }

  /** Opens the cursors in a new owner, before another process can open them. */
  reopen(): void {
    // If another process was faster, the next commit reports it.
    for (const [name, isOpen] of this.#names) if (isOpen) this.#link.call({ op: 'openCursor', name }).catch(() => {})
  }

  async #close(name: string): Promise<void> {
    this.#names.set(name, false)
    try {
      await this.#link.call({ op: 'closeCursor', name })
    } catch (error) {
      // Closing the folder closes its cursors.
      if (!isCode(error, 'ERR_DURLOG_CLOSED')) throw error
    } finally {
      this.#names.delete(name)
    }
  }
}

class RemoteCursor<V> implements StreamsCursor<V> {
  readonly name: string
  readonly #link: Link
  readonly #close: () => Promise<void>
  #position: number
  #closing: Promise<void> | undefined

  constructor(link: Link, name: string, position: number, close: () => Promise<void>) {
    this.#link = link
    this.name = name
    this.#position = position
    this.#close = close
  }

  get position(): number {
    return this.#position
  }

  read(options?: Omit<StreamsReadOptions, 'from'>): AsyncGenerator<CommittedRecord<V>, void, undefined> {
    return this.#read(checkCursorReadOptions(options))
  }

  async *#read({ follow, signal }: StreamsReadOptions): AsyncGenerator<CommittedRecord<V>, void, undefined> {
    this.#checkOpen()
    yield* readAll<V>(this.#link, { from: this.#position, follow, signal })
  }

  async commit(position: number, options?: CommitOptions): Promise<void> {
    checkSeq('seq', position)
    const durability = resolveCommitOptions(options)
    this.#checkOpen()
    const call = { op: 'commit', name: this.name, position, options: { durability } } as const
    this.#position = (await this.#link.call(call)) as number
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #checkOpen(): void {
    if (this.#closing !== undefined)
      throw new DurlogError('ERR_DURLOG_CLOSED', `the cursor "${this.name}" has been closed; open it again`)
  }
}

export async function* readAll<V>(
  link: Link,
  { from, follow = false, signal }: StreamsReadOptions,
): AsyncGenerator<CommittedRecord<V>, void, undefined> {
  for await (const record of link.read({ kind: 'all', from, follow }).records(signal)) {
    const { stream, seq, timestamp, position } = record
    yield { stream, seq, value: receivedValue<V>(record.value), timestamp, position }
  }
}
