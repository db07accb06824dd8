/**
 * Removes the segments that a log's retention policy allows to remove: after a segment is sealed, at intervals, and on
 * request.
 */
import { DurlogError } from '../../errors.js'
import type { NativeRetentionPlan, NativeRetentionPolicy } from '../../native/log.js'
import { Turns } from '../../support/turns.js'
import type { CursorOverrun } from '../../types.js'

/** The longest interval between two passes, in ticks of a second. */
const MAX_TICKS_BETWEEN = 60
/** The interval between two passes is `maxAgeMs` divided by this. */
const AGE_PART = 8

/** The log whose records are removed. */
export interface RetentionHost {
  readonly firstSeq: number
  /** Whether the log is closed or latched. No records are removed from such a log. */
  readonly ended: boolean
  /** Plans a pass and removes its segments, with no other change of the files in between. */
  retainOnce(policy: NativeRetentionPolicy): Promise<NativeRetentionPlan>
  /** As `retainOnce`; appends wait until it has ended. */
  retainAlone(policy: NativeRetentionPolicy): Promise<NativeRetentionPlan>
  rotate(): Promise<number>
  onOverrun(overrun: CursorOverrun): void
  onRetentionFailed(error: DurlogError): void
}

export class Retention {
  readonly #host: RetentionHost
  readonly #policy: NativeRetentionPolicy
  readonly #passes = new Turns()
  readonly #ticksBetween: number
  #ticksLeft = 0
  /** Whether a background pass is scheduled and has not begun yet. */
  #wanted = false
  /** The number of background passes that have not ended. */
  #running = 0

  constructor(host: RetentionHost, policy: NativeRetentionPolicy) {
    this.#host = host
    this.#policy = policy
    const ticks = Math.floor(policy.maxAgeMs / AGE_PART / 1000)
    this.#ticksBetween =
      policy.maxAgeMs === -1 ? Number.POSITIVE_INFINITY : Math.max(1, Math.min(MAX_TICKS_BETWEEN, ticks))
  }

  /** Makes a pass that begins after this call; resolves with the log's first seq. */
  applyRetention(): Promise<number> {
    return this.#passes.take(() => this.#pass())
  }

  /**
   * With `maxBytes`, makes a pass after each sealed segment, because a log with small segments may seal many in a
   * second. If an earlier pass has not ended, appends wait for this pass: the limit includes space for only one segment
   * beyond the next.
   */
  onRotated(): void {
    if (this.#policy.maxBytes === -1) return
    if (this.#running === 0) this.#schedulePass()
    else this.#inBackground(this.#once(() => this.#host.retainAlone(this.#policy)))
  }

  onTick(): void {
    if (--this.#ticksLeft <= 0) this.#schedulePass()
  }

  #schedulePass(): void {
    if (this.#wanted) return
    this.#wanted = true
    const pass = (): Promise<unknown> => {
      this.#wanted = false
      return this.#host.ended ? Promise.resolve() : this.#pass()
    }
    this.#inBackground(this.#passes.take(pass))
  }

  #inBackground(pass: Promise<unknown>): void {
    this.#running++
    pass
      .finally(() => this.#running--)
      .catch((error: unknown) => {
        if (this.#host.ended) return
        if (!(error instanceof DurlogError)) throw error
        this.#host.onRetentionFailed(error)
      })
  }

  async #pass(): Promise<number> {
    this.#ticksLeft = this.#ticksBetween
    const once = (): Promise<NativeRetentionPlan> => this.#once(() => this.#host.retainOnce(this.#policy))
    let plan = await once()
    if (plan.seal) {
      await this.#host.rotate()
      plan = await once()
    }
    if (plan.over) this.#ticksLeft = 1
    return this.#host.firstSeq
  }

  async #once(retain: () => Promise<NativeRetentionPlan>): Promise<NativeRetentionPlan> {
    const plan = await retain()
    for (const { cursor, lostFirst, lostLast } of plan.overruns) {
      const last = Math.min(lostLast, this.#host.firstSeq - 1)
      if (last >= lostFirst) this.#host.onOverrun({ cursor, lostFirst, lostLast: last })
    }
    return plan
  }
}
