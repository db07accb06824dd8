/** The calls of the core that change a log, and the events that these calls queue. */
import { DurlogError, isCode, outcomeOfCall, terminatedError } from '../../errors.js'
import {
  Counter,
  type NativeFailure,
  type NativeLog,
  type NativeRotation,
  type NativeSharedLog,
  type NativeStall,
} from '../../native/log.js'
import type { AppendCall } from '../../options/call-options.js'
import type { BatchRange, Payload } from '../../types.js'

/** The `timestamp` argument of an append without one, if another argument follows it. */
const CLOCK_TIME = -1

export type CoreEvent = NativeFailure | NativeStall | NativeRotation

/** The seq of the last record that a call appended, or, if there was no room, the reason. */
export type SeqOrRefusal = number | string

/** The arguments of `NativeWriter.appendEntries`. */
export interface EntryGroup {
  first: Uint8Array
  following: Uint8Array
  end: Uint8Array
  values: Uint8Array
  places: Uint32Array
}

/** After each call of the core, `onEvent` receives the events that the call has queued. */
export class CoreCalls {
  readonly #dir: string
  readonly #native: NativeLog | NativeSharedLog
  readonly #counters: Float64Array
  readonly #onEvent: (event: CoreEvent) => void
  /** The core's counter of accepted calls when it was last read. */
  #accepted = 0

  constructor(dir: string, native: NativeLog | NativeSharedLog, onEvent: (event: CoreEvent) => void) {
    this.#dir = dir
    this.#native = native
    this.#counters = native.counters
    this.#onEvent = onEvent
  }

  append(data: Payload, { level, timestamp, expectedSeq }: AppendCall): SeqOrRefusal {
    let refused: string | undefined
    try {
      if (expectedSeq !== undefined) refused = this.#native.append(data, level, timestamp ?? CLOCK_TIME, expectedSeq)
      else if (timestamp !== undefined) refused = this.#native.append(data, level, timestamp)
      else refused = this.#native.append(data, level)
    } catch (error) {
      throw outcomeOfCall(this.#withConflict(error, expectedSeq))
    } finally {
      this.takeEvents()
    }
    return refused ?? this.#acceptedSeq()
  }

  appendBatch(records: readonly Payload[], { level, timestamp, expectedSeq }: AppendCall): SeqOrRefusal {
    const native = this.#native
    const timeMs = timestamp ?? CLOCK_TIME
    return this.#inCall(
      () =>
        expectedSeq === undefined
          ? native.appendBatch(records, level, timeMs)
          : native.appendBatch(records, level, timeMs, expectedSeq),
      expectedSeq,
    )
  }

  appendRange(bytes: Uint8Array, start: number, end: number, level: number): SeqOrRefusal {
    let refused: string | undefined
    try {
      refused = this.#native.appendRange(bytes, start, end, level)
    } catch (error) {
      throw outcomeOfCall(error)
    } finally {
      this.takeEvents()
    }
    return refused ?? this.#acceptedSeq()
  }

  /** As `NativeWriter.appendEntries`. */
  appendEntries({ first, following, end, values, places }: EntryGroup, level: number): SeqOrRefusal {
    return this.#inCall(() => this.#native.appendEntries(first, following, end, values, places, level))
  }

  write(data: Payload): SeqOrRefusal {
    let refused: string | undefined
    try {
      refused = this.#native.write(data)
    } catch (error) {
      throw outcomeOfCall(error)
    } finally {
      this.takeEvents()
    }
    return refused ?? this.#acceptedSeq()
  }

  writeBatch(list: readonly Payload[]): BatchRange | string {
    let first: number | string = 0
    const last = this.#inCall(() => {
      first = this.#native.writeBatch(list)
      return typeof first === 'string' ? first : undefined
    })
    return typeof last === 'string' ? last : { first, last }
  }

  appendSync(data: Payload, level: number, timestamp: number | undefined): SeqOrRefusal {
    return this.#inCall(() =>
      timestamp === undefined ? this.#native.appendSync(data, level) : this.#native.appendSync(data, level, timestamp),
    )
  }

  writeVoid(seqs: number, timestamp: number): SeqOrRefusal {
    const native = this.#native
    if (native.shared) throw new DurlogError('ERR_DURLOG_UNSUPPORTED', 'a log that is being restored cannot be shared')
    return this.#inCall(() => native.writeVoid(seqs, timestamp))
  }

  flushSync(level: number): void {
    this.#inCall(() => {
      this.#native.flushSync(level)
      return undefined
    })
  }

  /** As `NativeWriter.hasRoom`. */
  hasRoom(): boolean {
    return this.#native.hasRoom()
  }

  requestSync(level: number): void {
    this.#native.requestSync(level)
  }

  /** Begins a commit if there is work for one and no commit is running. */
  pump(): void {
    this.#native.pump()
    this.takeEvents()
  }

  /** In a shared log, updates the counters with the progress of the other writers. */
  look(): void {
    if (this.#native.shared) this.#native.look()
  }

  /**
   * Reports the queued events. Called after every call that may commit, before the appended record gets a promise: a
   * failure rejects the promises of earlier records, and the new record may have one of their seqs.
   */
  takeEvents(): void {
    if ((this.#counters[Counter.events] as number) === 0) return
    for (const event of this.#native.takeEvents()) this.#onEvent(event)
  }

  get nextSeq(): number {
    return this.#counters[Counter.nextSeq] as number
  }

  counter(index: number): number {
    return this.#counters[index] as number
  }

  /**
   * The calls for single records repeat this code instead of using it, because a closure for each call would cost time.
   */
  #inCall(call: () => string | undefined, expectedSeq?: number): SeqOrRefusal {
    let refused: string | undefined
    try {
      refused = call()
    } catch (error) {
      throw outcomeOfCall(this.#withConflict(error, expectedSeq))
    } finally {
      this.takeEvents()
    }
    return refused ?? this.#acceptedSeq()
  }

  /**
   * If the core has refused the expected seq, returns an error with both seqs: the log's next seq is in the counters.
   */
  #withConflict(error: unknown, expectedSeq: number | undefined): unknown {
    const conflict = isCode(error, 'ERR_DURLOG_SEQ_CONFLICT')
    return conflict && expectedSeq !== undefined ? seqConflict(this.nextSeq, expectedSeq) : error
  }

  /** Returns the last seq of the log after a call that was not refused. Throws if the core did not execute the call. */
  #acceptedSeq(): number {
    const accepted = this.counter(Counter.accepted)
    if (accepted === this.#accepted) throw terminatedError(this.#dir)
    this.#accepted = accepted
    return this.nextSeq - 1
  }
}

function seqConflict(nextSeq: number, seq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_SEQ_CONFLICT',
    `the log's next seq is ${nextSeq}, not ${seq} (expectedSeq): read the records appended meanwhile, then decide again`,
    { nextSeq },
  )
}

/** The error of a call that cannot wait for room. */
export function noRoom(reason: string): DurlogError {
  return new DurlogError('ERR_DURLOG_BACKPRESSURE', `no room for now: ${reason}; "await log.drain()" and try again`)
}
