/** Computes the required contents of streams to which several processes append, from the lines that they print. */
import type { Streams } from '../../src/streams/index.js'
import { all } from '../fixtures/streams.js'
import { type TrialValue, trialValue } from './trial-values.mjs'

/** The number of append numbers that each process may use. */
export const NUMBERS = 1_000_000

interface Requested {
  stream: string
  expectedSeq: number
  /** The acknowledged seq; -1 if the append was not acknowledged. */
  seq: number
  refused: boolean
}

export class SharingModel {
  readonly #requests = new Map<number, Requested>()
  /** For each stream, the append numbers that followers have received, in order. */
  readonly followed: Record<string, number[]>
  #broken = ''
  acknowledged = 0
  refused = 0

  constructor(names: readonly string[]) {
    this.followed = Object.fromEntries(names.map((name) => [name, []]))
  }

  processLine(line: string): void {
    const [kind, a, b, c] = line.split(' ') as [string, string, string, string]
    const request = this.#requests.get(Number(a))
    if (kind === 'w') this.#requests.set(Number(a), { stream: b, expectedSeq: Number(c), seq: -1, refused: false })
    else if (kind === 'v') this.#broken ||= line.slice(2)
    else if (kind === 'a' && request !== undefined) {
      request.seq = Number(b)
      this.acknowledged++
    } else if (kind === 'r' && request !== undefined) {
      request.refused = true
      this.refused++
    } else if (kind === 'f') {
      const received = this.followed[a] as number[]
      if (Number(b) !== received.length) this.#broken ||= `a follower of ${a} got seq ${b} after ${received.length - 1}`
      received.push(Number(c))
    }
  }

  async check(streams: Streams<unknown>): Promise<void> {
    if (this.#broken !== '') throw new Error(this.#broken)
    if (streams.changes.length > 0) throw new Error(`false report of changes: ${JSON.stringify(streams.changes)}`)
    const found = new Map<number, number>()
    const batches = new Map<number, number>()
    for (const [name, received] of Object.entries(this.followed)) {
      const records = (await streams.stream(name).info()) === undefined ? [] : await all(streams.stream(name).read())
      this.#checkStream(name, records as { seq: number; value: TrialValue }[], found, batches)
      for (const [seq, n] of received.entries())
        if (records[seq] === undefined || (records[seq].value as TrialValue).n !== n)
          throw new Error(`a follower of ${name} got append ${n} as seq ${seq}, but another append has this seq`)
    }
    for (const [first, missing] of batches)
      if (missing !== 0) throw new Error(`${missing} records of the batch ${first} are missing`)
    for (const [n, { seq, refused, stream }] of this.#requests) {
      if (seq !== -1 && found.get(n) !== seq)
        throw new Error(`append ${n} to ${stream} was acknowledged as seq ${seq}, but has seq ${found.get(n)}`)
      if (refused && found.has(n)) throw new Error(`append ${n} to ${stream} was refused, but is stored`)
    }
  }

  #checkStream(
    name: string,
    records: { seq: number; value: TrialValue }[],
    found: Map<number, number>,
    batches: Map<number, number>,
  ): void {
    /** The last append of each process. */
    const last = new Map<number, number>()
    for (const [at, { seq, value }] of records.entries()) {
      const { n, batch } = value
      const request = this.#requests.get(n)
      const appender = Math.floor(n / NUMBERS)
      if (seq !== at) throw new Error(`${name} has seq ${seq} after ${at - 1}`)
      if (found.has(n)) throw new Error(`append ${n} is stored twice: as seq ${found.get(n)}, and in ${name} as ${seq}`)
      if (n < (last.get(appender) ?? -1)) throw new Error(`${name} has append ${n} after ${last.get(appender)}`)
      if (JSON.stringify(value) !== JSON.stringify(trialValue(n, batch))) throw new Error(`append ${n} has other bytes`)
      if (request?.stream !== name) throw new Error(`append ${n} is in ${name}, not in ${request?.stream}`)
      if (request.expectedSeq !== -1 && request.expectedSeq !== seq)
        throw new Error(`append ${n} has seq ${seq}; its condition was ${request.expectedSeq}`)
      if (batch !== undefined) batches.set(batch[0], (batches.get(batch[0]) ?? batch[1]) - 1)
      found.set(n, seq)
      last.set(appender, n)
    }
  }
}
