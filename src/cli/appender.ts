/** Appends the records of an input to a log, in order, with bounded memory. */
import { DurlogError } from '../errors.js'
import type { OrderedLog, RestoringLog } from '../open.js'
import { InputError } from '../terminal/input-error.js'
import { InterruptedError, onInterrupt } from '../terminal/interrupt.js'
import { warn } from '../terminal/output.js'
import { startProgress } from '../terminal/progress.js'
import type { Durability } from '../types.js'
import { type Input, isBlank, recordsIn, type Splitter } from './input.js'
import { type AppendSummary, reportAppended } from './reports.js'

const MAX_PENDING_BYTES = 8 * 1024 * 1024
/** The bytes that a waiting record takes besides its data: a Buffer and the objects around it. */
const RECORD_BYTES = 256

/** A record to append. Without a `timestamp` it gets the clock's time. */
export interface NewRecord {
  data: Buffer
  timestamp?: number
  /** The seqs before this one that have no record yet get none. Only with a `RestoringLog`, and with `timestamp`. */
  skipTo?: number
}

function emptySummary(): AppendSummary {
  return { first: -1, last: -1, records: 0, bytes: 0, uncertain: 0, blankLines: 0, skipped: 0 }
}

/** Appends records in lists. While one list is written to the device, the next one is collected. */
export class Appender {
  readonly summary: AppendSummary
  /** Called after an append has failed. */
  onFailure: (error: Error) => void = () => {}
  readonly #log: OrderedLog
  readonly #durability: Durability
  #gathered: NewRecord[] = []
  #gatheredBytes = 0
  #flight: Promise<void> | undefined
  #failure: { error: unknown } | undefined

  constructor(log: OrderedLog, durability: Durability, summary: AppendSummary = emptySummary()) {
    this.#log = log
    this.summary = summary
    this.#durability = durability
  }

  /**
   * Appends `records`. Waits while too many bytes are pending. Throws if the append of an earlier record has failed.
   */
  async add(records: readonly NewRecord[]): Promise<void> {
    for (const record of records) {
      if (record.skipTo !== undefined) await this.#skipTo(record.skipTo, record.timestamp ?? 0)
      this.#gathered.push(record)
      this.#gatheredBytes += RECORD_BYTES + record.data.length
    }
    this.#start()
    while (this.#gatheredBytes >= MAX_PENDING_BYTES && this.#flight !== undefined) await this.#flight
    this.#check()
  }

  /** Waits until all records have reached their level. Throws the first error. */
  async finish(): Promise<void> {
    while (this.#flight !== undefined) await this.#flight
    this.#check()
  }

  async #skipTo(seq: number, timestamp: number): Promise<void> {
    this.#start()
    await this.finish()
    await (this.#log as RestoringLog).skipTo(seq, timestamp)
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }

  #start(): void {
    if (this.#flight !== undefined || this.#failure !== undefined || this.#gathered.length === 0) return
    const list = this.#gathered
    this.#gathered = []
    this.#gatheredBytes = 0
    this.#flight = this.#append(list).finally(() => {
      this.#flight = undefined
      this.#start()
    })
  }

  async #append(list: readonly NewRecord[]): Promise<void> {
    const data = list.map((piece) => piece.data)
    const timestamps = list.map(({ timestamp }) => timestamp)
    const { reached, firstSeq, lastSeq, failure } = await this.#log.appendInOrder(data, this.#durability, timestamps)
    const { summary } = this
    if (reached > 0) {
      if (summary.first === -1) summary.first = firstSeq
      summary.last = lastSeq
    }
    summary.records += reached
    for (let i = 0; i < reached; i++) summary.bytes += (data[i] as Buffer).length
    if (failure === undefined) return
    this.#failure = failure
    this.onFailure(failure.error as Error)
    if (failure.error instanceof DurlogError && failure.error.outcome === 'unknown')
      summary.uncertain = list.length - reached
  }
}

/** Converts a piece of an input to a record. Throws InputError if it is invalid; `place` names it in the message. */
export type ToRecord = (piece: Buffer, place: string) => NewRecord

export interface AppendTarget {
  log: OrderedLog
  /** The number of records at the beginning of the input that are not appended. Default: 0. */
  skip?: number
}

/** How a command that appends an input reports. */
interface Reporting {
  command: 'append' | 'import'
  durability: Durability
  json?: boolean | undefined
  /** When the command began. */
  startMs: number
}

/**
 * Appends every record of `input`, and reports what is stored, also after a failure. If the input contains an error,
 * appends the records before it, then throws the error. `open` is called after the first piece was converted, so that a
 * wrong input creates no log, with its record and place; with nothing if there is no piece.
 */
export async function appendInput(
  open: (first?: NewRecord, place?: string) => Promise<AppendTarget>,
  toRecord: ToRecord,
  input: Input,
  splitter: Splitter,
  { command, durability, json = false, startMs }: Reporting,
): Promise<void> {
  const summary = emptySummary()
  let opened: (AppendTarget & { appender: Appender }) | undefined
  const openOnce = async (first?: NewRecord, place?: string): Promise<AppendTarget & { appender: Appender }> => {
    if (opened !== undefined) return opened
    const target = await open(first, place)
    const appender = new Appender(target.log, durability, summary)
    // Ends the input at once. Otherwise the failure would be reported only when the next chunk arrives.
    appender.onFailure = (error) => input.chunks.destroy(error)
    opened = { ...target, appender }
    return opened
  }
  const progress = startProgress(command, input.totalBytes, json || input.totalBytes === 0)
  let pieces = 0
  const add = async (list: readonly Buffer[]): Promise<void> => {
    const records: NewRecord[] = []
    try {
      for (const piece of list) {
        const place = `${splitter.lines ? 'line' : 'record'} ${++pieces}`
        if (splitter.lines && isBlank(piece)) {
          if (++summary.blankLines === 1) warn('BLANK_LINE', `${place} is blank; blank lines are skipped`, json)
          continue
        }
        const first = opened === undefined ? toRecord(piece, place) : undefined
        const { skip = 0 } = opened ?? (await openOnce(first, place))
        if (summary.skipped < skip) summary.skipped++
        else records.push(first ?? toRecord(piece, place))
      }
    } finally {
      await opened?.appender.add(records)
    }
  }
  const stop = onInterrupt((interrupted) => input.chunks.destroy(interrupted))
  try {
    for await (const list of recordsIn(input, splitter, (bytes) => progress.advance(bytes))) await add(list)
    await (await openOnce()).appender.finish()
  } catch (error) {
    if (error instanceof InterruptedError || error instanceof InputError) await opened?.appender.finish()
    throw error
  } finally {
    stop()
    progress.stop()
    const verb = command === 'append' ? 'appended' : 'imported'
    await reportAppended(verb, summary, durability, json, performance.now() - startMs)
  }
}
