/** Computes the required contents of the streams of a kill trial from the lines that the children print. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { StreamInfo, Streams } from '../../src/streams/index.js'
import { fileNameOf } from '../../src/streams/port/file-name.js'
import { all, linesOf } from '../fixtures/streams.js'
import { ledgerValue, type TrialValue, trialValue } from './trial-values.mjs'

interface Known {
  /** The seq of each append that must be stored, by its number. */
  acked: Map<number, number>
  /** For each requested deletion, by its number, whether it was acknowledged. */
  deletions: Map<number, boolean>
  /** The number of the last acknowledged end, or -1. */
  ended: number
  /** With retention: the greatest first seq that was reported. */
  first: number
}

export class KillModel {
  /** For each ledger, the number of acknowledged appends of its producer. */
  readonly ledgers: Record<string, number> = { 'ledger-0': 0, 'ledger-1': 0 }
  acknowledged = 0
  compared = 0
  batches = 0
  /** The number of records that retention has removed. */
  removed = 0
  readonly #streams = new Map<string, Known>()
  readonly #refused = new Set<number>()
  #broken = ''

  /** Processes one line of a child's output. */
  processLine(line: string): void {
    const [kind, a, b, c] = line.split(' ') as [string, string, string, string]
    if (kind === 'v') this.#broken ||= line.slice(2)
    else if (kind === 'a') this.#known(b).acked.set(Number(a), Number(c))
    else if (kind === 'r') this.#refused.add(Number(a))
    else if (kind === 'q') this.ledgers[a] = Math.max(this.ledgers[a] as number, Number(b) + 1)
    else if (kind === 'D') this.#known(b).deletions.set(Number(a), false)
    else if (kind === 'd') this.#known(b).deletions.set(Number(a), true)
    else if (kind === 'e') this.#known(b).ended = Number(a)
    else if (kind === 'f') this.#known(a).first = Math.max(this.#known(a).first, Number(b))
    if (kind === 'a' || kind === 'q') this.acknowledged++
  }

  /** Compares the streams with the model. Then the model continues from their state. */
  async check(streams: Streams<unknown>): Promise<void> {
    if (this.#broken !== '') throw new Error(this.#broken)
    if (streams.changes.length > 0) throw new Error(`false report of changes: ${JSON.stringify(streams.changes)}`)
    // The second checkpoint removes the files that the first one drops.
    await streams.checkpoint()
    await streams.checkpoint()
    const batches = new Map<number, number>()
    for (const name of await this.#names(streams)) {
      if (name.startsWith('ledger')) await this.#checkLedger(streams, name)
      else await this.#checkStream(streams, name, batches)
    }
    for (const [first, missing] of batches)
      if (missing !== 0) throw new Error(`${missing} records of the batch ${first} are missing`)
    this.batches += batches.size
  }

  async #names(streams: Streams<unknown>): Promise<Set<string>> {
    const listed = (await all(streams.list())).map(({ name }) => name)
    return new Set([...listed, ...[...this.#streams.keys()].map((name) => name.replace('_', ' '))])
  }

  async #checkLedger(streams: Streams<unknown>, name: string): Promise<void> {
    let q = 0
    for await (const { seq, value } of streams.stream(name).read()) {
      if (seq !== q || JSON.stringify(value) !== JSON.stringify(ledgerValue(q)))
        throw new Error(`${name} has ${JSON.stringify(value).slice(0, 40)} at seq ${seq}, not append ${q}`)
      q++
      this.compared++
    }
    const acked = this.ledgers[name] as number
    if (q < acked) throw new Error(`${name} ends at ${q}; ${acked} appends were acknowledged`)
    this.ledgers[name] = q
  }

  async #checkStream(streams: Streams<unknown>, name: string, batches: Map<number, number>): Promise<void> {
    const known = this.#known(name.replace(' ', '_'))
    const stream = streams.stream(name)
    const info = await stream.info()
    const found = new Map<number, number>()
    const first = info?.firstSeq ?? 0
    let last = -1
    for await (const { seq, value } of info === undefined ? [] : stream.read()) {
      const { n, batch } = value as TrialValue
      if (seq !== first + found.size) throw new Error(`"${name}" has seq ${seq}, not ${first + found.size}`)
      if (n <= last) throw new Error(`"${name}" has append ${n} after ${last}`)
      if (JSON.stringify(value) !== JSON.stringify(trialValue(n, batch))) throw new Error(`append ${n} has other bytes`)
      if (this.#refused.has(batch?.[0] ?? n)) throw new Error(`append ${n} was refused, but is in "${name}"`)
      const acked = known.acked.get(n)
      if (acked !== undefined && acked !== seq)
        throw new Error(`append ${n} has seq ${seq}, but ${acked} was acknowledged`)
      if (batch !== undefined) batches.set(batch[0], (batches.get(batch[0]) ?? batch[1]) - 1)
      found.set(n, seq)
      last = n
      this.compared++
    }
    this.#checkFiles(streams, name, info)
    if (info?.retention !== undefined) this.#checkRetention(info, known)
    this.#checkDeletions(name, known, [...found.keys()], first)
    const ended = info?.ended ?? false
    const lastDeletion = Math.max(-1, ...known.deletions.keys())
    if (known.ended > lastDeletion && !ended) throw new Error(`"${name}" has not ended`)
    this.#streams.set(name.replace(' ', '_'), {
      acked: found,
      deletions: new Map(),
      ended: ended ? last : -1,
      first,
    })
  }

  /**
   * Throws unless the files of a stream contain its records once, and no file of an earlier stream of its name exists.
   */
  #checkFiles({ dir }: Streams<unknown>, name: string, info: StreamInfo | undefined): void {
    const fileName = fileNameOf(name)
    const { firstSeq = 0, nextSeq = 0, retention } = info ?? {}
    const linesIn = (file: string): number => linesOf(join(dir, 'streams', file)).length
    // The records of this file have become too old during the check; the next checkpoint removes it.
    const isTooOld = (file: string): boolean =>
      retention?.maxAgeMs !== undefined && Number(/~(\d+)/.exec(file)?.[1]) + linesIn(file) <= firstSeq
    const files = readdirSync(join(dir, 'streams')).filter(
      (file) => file.split(/[~.]/)[0] === fileName && !isTooOld(file),
    )
    const lines = files.reduce((sum, file) => sum + linesIn(file), 0)
    const hasWrongName = files.some((file) => file.includes('~') !== (retention !== undefined))
    if (lines !== nextSeq - firstSeq || hasWrongName)
      throw new Error(`"${name}" has ${lines} lines in ${files.join(', ')}, not records ${firstSeq} to ${nextSeq - 1}`)
  }

  #checkRetention({ name, firstSeq, nextSeq, retention, fileBytes }: StreamInfo, { first, deletions }: Known): void {
    if (firstSeq < first && deletions.size === 0)
      throw new Error(`"${name}" began at seq ${first}, and now begins at ${firstSeq}`)
    const { maxRecords, maxBytes } = retention ?? {}
    const count = nextSeq - firstSeq
    if (maxRecords !== undefined && firstSeq > 0 && count < maxRecords)
      throw new Error(`"${name}" has ${count} records after removal`)
    if (maxRecords !== undefined && count > Math.max(maxRecords * 1.125, maxRecords + 16))
      throw new Error(`"${name}" keeps ${count} records`)
    if (maxBytes !== undefined && firstSeq > 0 && fileBytes < maxBytes)
      throw new Error(`"${name}" has ${fileBytes} bytes after removal`)
    this.removed += Math.max(0, firstSeq - first)
  }

  /**
   * Throws unless each missing append was deleted with all earlier ones or is before `first`, and each append before an
   * acknowledged deletion is missing.
   */
  #checkDeletions(name: string, { acked, deletions }: Known, found: readonly number[], first: number): void {
    const oldest = found[0] ?? Number.POSITIVE_INFINITY
    for (const [at, isAcked] of deletions)
      if (isAcked && oldest < at) throw new Error(`append ${oldest} to "${name}" was deleted by ${at}, but is stored`)
    const stored = new Set(found)
    const effective = Math.max(-1, ...[...deletions.keys()].filter((at) => at < oldest))
    for (const [n, seq] of acked)
      if (!stored.has(n) && n > effective && seq >= first)
        throw new Error(`append ${n} to "${name}" was acknowledged, but is lost`)
  }

  #known(name: string): Known {
    let known = this.#streams.get(name)
    if (known === undefined) {
      known = { acked: new Map(), deletions: new Map(), ended: -1, first: 0 }
      this.#streams.set(name, known)
    }
    return known
  }
}
