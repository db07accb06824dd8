/** Notices an owner that gives no sign while something is awaited from it; its timer keeps the process alive meanwhile. */
import { clearInterval, setInterval } from 'node:timers'

import { DurlogError } from '../../errors.js'

/** A blocked event loop makes one tick, so that its own delay is not taken for the owner's. */
const TICK_MS = 250
/** Ticks without a sign until the owner counts as stalled. */
const STALLED_TICKS = 4
/** Further ticks until a request fails. */
export const FAILED_TICKS = 16

export interface OwnerWatchHandler {
  ping(): void
  onStalled(): void
  /** The owner has been stalled for `ticks`. */
  onStalledTick(ticks: number): void
}

export class OwnerWatch {
  readonly #handler: OwnerWatchHandler
  readonly #timer: NodeJS.Timeout
  #quietTicks = 0
  #lastSignMs = 0

  constructor(handler: OwnerWatchHandler) {
    this.#handler = handler
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref()
  }

  /** Something is awaited, or nothing is. */
  set awaiting(isAwaiting: boolean) {
    // An owner that nothing was awaited from had no reason to give a sign.
    if (isAwaiting && !this.#timer.hasRef()) this.#lastSignMs = performance.now()
    if (isAwaiting) this.#timer.ref()
    else this.#timer.unref()
  }

  /** Since the last sign, or since something is awaited if nothing was before. */
  get sinceSignMs(): number {
    return performance.now() - this.#lastSignMs
  }

  /** The owner has sent something. */
  sign(): void {
    this.#quietTicks = 0
    this.#lastSignMs = performance.now()
  }

  /** The owner's time to give a sign begins now: it could not be asked before. */
  restart(): void {
    this.#quietTicks = 0
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    if (!this.#timer.hasRef()) {
      this.#quietTicks = 0
      return
    }
    this.#quietTicks++
    this.#handler.ping()
    if (this.#quietTicks === STALLED_TICKS) this.#handler.onStalled()
    if (this.#quietTicks >= STALLED_TICKS) this.#handler.onStalledTick(this.#quietTicks - STALLED_TICKS)
  }
}

/** `pid` is 0 if it is not known. */
export function stalledOwner(dir: string, pid: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_STALLED',
    `${pid > 0 ? `process ${pid}` : 'the process'}, which has the folder ${dir} open, does not answer: resume or kill it; the append may or may not be stored`,
    { outcome: 'unknown', ...(pid > 0 && { ownerPid: pid }) },
  )
}
