/** The contenders of a table, raw system calls and logs, which are measured in turns. */

import { fioOf } from '../report/fio.js'
import type { Row } from '../report/report.js'
import { Baseline, type BaselineSpec, baselinesSupported, isUnsupported } from './baselines.js'
import { timeInFlight } from './load.js'
import type { CallResult, Contender } from './rounds.js'
import { sum } from './stats.js'

/** The rows of a table while it is measured, their contenders, and the functions that close them. */
export class Field {
  readonly rows: Row[] = []
  readonly contenders: Map<Row, Contender> = new Map()
  readonly #closing: (() => Promise<unknown>)[] = []

  add(row: Row, contender?: Contender): Row {
    this.rows.push(row)
    if (contender) this.contenders.set(row, contender)
    return row
  }

  whenDone(close: () => Promise<unknown>): void {
    this.#closing.push(close)
  }

  /** Closes all contenders, then throws the first error. */
  async close(): Promise<void> {
    const settled = await Promise.allSettled(this.#closing.splice(0).map((close) => close()))
    for (const result of settled) if (result.status === 'rejected') throw result.reason
  }

  /**
   * Adds a row of raw system calls, of which each call of the addon makes `samples`. Adds nothing if this system has no
   * baselines. If the file system does not support the calls, adds a row with the reason.
   */
  async addRaw(labels: string[], spec: BaselineSpec, samples: number): Promise<Row | undefined> {
    if (!baselinesSupported()) return undefined
    const row = this.add({ labels, baseline: true, fio: fioOf(spec) })
    try {
      const baseline = await Baseline.open(spec)
      this.whenDone(() => baseline.close())
      this.contenders.set(row, rawContender(baseline, spec, samples))
    } catch (error) {
      if (!isUnsupported(error)) throw error
      row.note = (error as Error).message
    }
    return row
  }
}

export function rawContender(baseline: Baseline, spec: BaselineSpec, samples: number): Contender {
  const perSample = spec.recordsPerSample ?? 1
  const batch = async (): Promise<CallResult> => {
    const latencies = await baseline.run(samples)
    return { operations: samples * perSample, elapsedUs: sum(latencies) * perSample, latencies }
  }
  return { bytesPerOperation: spec.recordBytes, batch }
}

/**
 * A contender with `appenders` concurrent appenders, each of which awaits its append before the next one. Times each
 * append.
 */
export function appendersContender(
  append: () => Promise<unknown>,
  bytes: number,
  appenders: number,
  sliceMs: number,
): Contender {
  return { bytesPerOperation: bytes, batch: () => timeInFlight(append, appenders, sliceMs) }
}
