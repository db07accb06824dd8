/** The named cursors of one open log. */
import { atCaller } from '../caller-stack.js'
import { closedError } from '../errors.js'
import type { NativeCursorSummary } from '../native/cursors.js'
import { waitForLock } from '../native/lock-wait.js'
import { native } from '../native/native.js'
import { abortable } from '../options/abort-signal.js'
import {
  checkCursorName,
  type ResolvedCursorOptions,
  resolveCursorOptions,
  resolveEnsureOptions,
} from '../options/cursor-options.js'
import type { CursorOptions, CursorSummary, DurableCursor, EnsureCursorOptions, OpenCursor } from '../types.js'
import { type CursorHost, NamedCursor } from './named-cursor.js'

/** How long to wait for another process that is creating the cursor, which holds the cursor's lock meanwhile. */
const CREATION_WAIT_MS = 10_000

export class LogCursors {
  readonly #host: CursorHost
  readonly #open = new Set<NamedCursor>()
  /** Calls that open or remove a cursor, and hold its lock meanwhile. They never reject. */
  readonly #running = new Set<Promise<unknown>>()
  #refused = false

  constructor(host: CursorHost) {
    this.#host = host
  }

  async cursor(name: string, options?: CursorOptions): Promise<DurableCursor> {
    checkCursorName(name)
    const resolved = resolveCursorOptions(options)
    const open = (): Promise<NamedCursor> => this.#untilClosed(this.#cursor(name, resolved))
    return await atCaller(abortable(resolved.signal, open, (late) => void late.close()))
  }

  async #cursor(name: string, { from, waitMs, signal }: ResolvedCursorOptions): Promise<NamedCursor> {
    const { dir, uuid } = this.#host.source
    const open = async () => {
      this.#check()
      return native.openDurableCursor(dir, name, uuid)
    }
    const file = await waitForLock(waitMs, open, signal)
    const cursor: NamedCursor = new NamedCursor(name, this.#host, file, () => this.#open.delete(cursor))
    try {
      this.#check()
      this.#open.add(cursor)
      await NamedCursor.start(cursor, from, signal)
      return cursor
    } catch (error) {
      await cursor.close()
      throw error
    }
  }

  async ensureCursor(name: string, options?: EnsureCursorOptions): Promise<void> {
    checkCursorName(name)
    const { from } = resolveEnsureOptions(options)
    // While another process creates the cursor, the cursor is locked and not confirmed. The creation may still be
    // refused.
    const created = waitForLock(CREATION_WAIT_MS, async () => {
      this.#check()
      const list = await native.listCursors(this.#host.source.dir)
      if (list.some((existing) => existing.name === name && existing.confirmed)) return
      const cursor = await this.#cursor(name, { from, waitMs: 0 })
      await cursor.close()
    })
    await atCaller(this.#untilClosed(created))
  }

  async cursors(): Promise<CursorSummary[]> {
    this.#check()
    const list = await atCaller(native.listCursors(this.#host.source.dir))
    const range = await atCaller(this.#host.source.range(false))
    const stateOf = async ({ position = -1, cut, proof }: NativeCursorSummary): Promise<CursorSummary['state']> => {
      if (position === -1) return 'damaged'
      if (cut !== undefined) return 'cut'
      if (position < range.first) return 'overrun'
      if (proof === undefined) return 'ready'
      const found = await this.#host.reads.checksumIfHeld(proof.position - 1)
      return found === undefined || found === proof.checksum ? 'ready' : 'replaced'
    }
    return await Promise.all(
      list.map(async (summary) => {
        const { name, position = -1, owned, ownerPid } = summary
        const state = await stateOf(summary)
        const lagRecords = lagOf(position, range)
        return { name, position, lagRecords, state, owned, ...(ownerPid > 0 && { ownerPid }) }
      }),
    )
  }

  /** The cursors that are open in this process. */
  opened(): OpenCursor[] {
    const range = this.#host.source.seqs()
    return [...this.#open]
      .map(({ name, position }) => ({ name, position, lagRecords: lagOf(position, range) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async removeCursor(name: string): Promise<void> {
    checkCursorName(name)
    this.#check()
    await atCaller(this.#untilClosed(native.removeCursor(this.#host.source.dir, name)))
  }

  /** Closes every open cursor, and ends the calls that open one; later calls fail with ERR_DURLOG_CLOSED. */
  async close(): Promise<void> {
    this.#refused = true
    await Promise.all([...this.#open].map((cursor) => cursor.close()))
    await Promise.all(this.#running)
  }

  /** Makes `close` wait for `call`. */
  #untilClosed<T>(call: Promise<T>): Promise<T> {
    const settled: Promise<unknown> = call.catch(() => {}).finally(() => this.#running.delete(settled))
    this.#running.add(settled)
    return call
  }

  #check(): void {
    if (this.#refused) throw closedError(this.#host.source.dir)
  }
}

/** The number of records from `position` to the end of the log, without trimmed records. */
function lagOf(position: number, { first, next }: { first: number; next: number }): number {
  return position === -1 ? 0 : Math.max(0, next - Math.max(position, first))
}
