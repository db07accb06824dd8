/** Measures the growth of the streams in a folder, from the entries of their main log. Takes no lock. */
import type { ReadOnlyLog } from '../../index.js'
import { decodeEntry, EntryKind } from '../../streams/state/entry.js'

/** The largest number of streams that are listed. */
const LISTED = 10

export interface StreamRate {
  name: string
  appendedPerSecond: number
}

export class StreamRates {
  readonly #log: ReadOnlyLog
  #next: number
  #atMs: number = performance.now()

  constructor(log: ReadOnlyLog) {
    this.#log = log
    this.#next = log.nextSeq
  }

  /** Returns the streams that have grown most since the last call. */
  async look(): Promise<StreamRate[]> {
    const counts = new Map<string, number>()
    const end = this.#log.nextSeq
    const from = Math.max(this.#next, this.#log.firstSeq)
    if (end > from) {
      for await (const { seq, data } of this.#log.read({ from, to: end })) {
        const { kind, stream } = decodeEntry(data, seq)
        if (kind === EntryKind.append) counts.set(stream, (counts.get(stream) ?? 0) + 1)
      }
    }
    const nowMs = performance.now()
    const seconds = (nowMs - this.#atMs) / 1000
    this.#next = end
    this.#atMs = nowMs
    return [...counts]
      .sort(([, a], [, b]) => b - a)
      .slice(0, LISTED)
      .map(([name, count]) => ({ name, appendedPerSecond: Math.round(count / seconds) }))
  }
}
