/** Contenders that take turns: raw system calls and logs. */

import type { Row } from '../report/report.js'
import { Baseline, type BaselineSpec, baselinesSupported, isUnsupported } from './baselines.js'
import { timeInFlight } from './load.js'
import type { CallResult, Contender } from './rounds.js'
import { sum } from './stats.js'

/** The rows of one table while it is measured: the contender of each, and what is closed afterwards. */
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

  /** Closes everything; then throws the first failure. */
  async close(): Promise<void> {
    const settled = await Promise.allSettled(this.#closing.splice(0).map((close) => close()))
    for (const result of settled) if (result.status === 'rejected') throw result.reason
  }

  /**
   * Adds a row of raw calls, `samples` to a call of the addon. Adds nothing if this system has no baselines, and a row
   * with the reason if the file system does not support this one.
   */
  async addRaw(labels: string[], spec: BaselineSpec, samples: number): Promise<Row | undefined> {
    if (!baselinesSupported()) return undefined
    const row = this.add({ labels, baseline: true })
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

/** `appenders` that each wait for their append before the next one, every latency kept. */
export function appendersContender(
  append: () => Promise<unknown>,
  bytes: number,
  appenders: number,
  sliceMs: number,
): Contender {
  return { bytesPerOperation: bytes, batch: () => timeInFlight(append, appenders, sliceMs) }
}
