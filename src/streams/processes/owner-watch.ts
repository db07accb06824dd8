/**
 * Detects an owner that sends nothing while a request or a read waits for it. The timer keeps the process alive
 * meanwhile.
 */
import { DurlogError } from '../../errors.js'
import { clearInterval, clock, setInterval } from '../../timers.js'

/**
 * Silence is counted in ticks because a blocked event loop makes only one tick: its own delay is not taken for the
 * owner's.
 */
const TICK_MS = 250
/** The number of silent ticks until the owner counts as stalled. */
const STALLED_TICKS = 4
/** The number of further ticks until a request fails. */
export const FAILED_TICKS = 16

export interface OwnerWatchHandler {
  /** Sends a message that the owner answers at once. */
  ping(): void
  onStalled(): void
  /** Called at each tick while the owner is stalled. `ticks` is the number of ticks since it counts as stalled. */
  onStalledTick(ticks: number): void
}

export class OwnerWatch {
  readonly #handler: OwnerWatchHandler
  readonly #timer: NodeJS.Timeout
  #silentTicks = 0
  #lastDataMs = 0

  constructor(handler: OwnerWatchHandler) {
    this.#handler = handler
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref()
  }

  /** Whether a request or a read waits for the owner. */
  set awaiting(isAwaiting: boolean) {
    // Before, the owner had no reason to send anything.
    if (isAwaiting && !this.#timer.hasRef()) this.#lastDataMs = clock.now()
    if (isAwaiting) this.#timer.ref()
    else this.#timer.unref()
  }

  /** Milliseconds since the last bytes from the owner, or since something waits for it if that is later. */
  get silentMs(): number {
    return clock.now() - this.#lastDataMs
  }

  /** The owner has sent bytes. */
  onData(): void {
    this.#silentTicks = 0
    this.#lastDataMs = clock.now()
  }

  /** The number of ticks since the owner counts as stalled; negative before. */
  get stalledTicks(): number {
    return this.#silentTicks - STALLED_TICKS
  }

  /** Counts the owner's silence from now on, because it could not be asked before. */
  restart(): void {
    this.#silentTicks = 0
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    if (!this.#timer.hasRef()) {
      this.#silentTicks = 0
      return
    }
    this.#silentTicks++
    this.#handler.ping()
    if (this.#silentTicks === STALLED_TICKS) this.#handler.onStalled()
    if (this.stalledTicks >= 0) this.#handler.onStalledTick(this.stalledTicks)
  }
}

/** The error of a request to a stalled owner. `pid` is 0 if it is not known. */
export function stalledOwner(dir: string, pid: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_STALLED',
    `${pid > 0 ? `process ${pid}` : 'the process'}, which has the folder ${dir} open, does not answer: resume or kill it; an unanswered append may or may not be stored`,
    { outcome: 'unknown', ...(pid > 0 && { ownerPid: pid }) },
  )
}
