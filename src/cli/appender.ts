/** Appends the records of an input to a log, in order, with bounded memory. */
import { DurlogError } from '../errors.js'
import type { OrderedLog, RestoringLog } from '../open.js'
import { InterruptedError, onInterrupt } from '../terminal/interrupt.js'
import type { Progress } from '../terminal/progress.js'
import type { Durability } from '../types.js'
import { type Input, isBlank, type Splitter } from './input.js'

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

/** The result of appending an input. */
export interface AppendSummary {
  /** The seqs of the first and the last stored record; -1 if none was stored. */
  first: number
  last: number
  /** The number of stored records, and their bytes. */
  records: number
  bytes: number
  /**
   * The number of further records that may or may not be stored, because their append failed with an unknown outcome.
   */
  uncertain: number
  blankLines: number
  /** The number of records at the beginning of the input that were not appended. */
  skipped: number
}

/** Appends records in lists. While one list is written to the device, the next one is collected. */
export class Appender {
  readonly summary: AppendSummary = {
    first: -1,
    last: -1,
    records: 0,
    bytes: 0,
    uncertain: 0,
    blankLines: 0,
    skipped: 0,
  }
  /** Called after an append has failed. */
  onFailure: (error: Error) => void = () => {}
  readonly #log: OrderedLog
  readonly #durability: Durability
  #gathered: NewRecord[] = []
  #gatheredBytes = 0
  #flight: Promise<void> | undefined
  #failure: { error: unknown } | undefined

  constructor(log: OrderedLog, durability: Durability) {
    this.#log = log
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

/** The conversion of the pieces of an input to records. */
export interface Conversion {
  /** Throws InputError if the piece is invalid. `place` names the piece in the message. */
  toRecord(piece: Buffer, place: string): NewRecord
  /** The number of records at the beginning of the input that are not appended. Default: 0. */
  skip?: number
  /** Called for the first blank line. Blank lines are skipped. */
  onBlank(place: string): void
}

/**
 * Appends every record of `input`. If the input contains an error, appends the records before it, then throws the
 * error.
 */
export async function appendInput(
  appender: Appender,
  input: Input,
  splitter: Splitter,
  conversion: Conversion,
  progress: Progress,
): Promise<void> {
  const { summary } = appender
  let pieces = 0
  const add = async (list: Buffer[]): Promise<void> => {
    const records: NewRecord[] = []
    let problem: unknown
    try {
      for (const piece of list) {
        const place = `${splitter.lines ? 'line' : 'record'} ${++pieces}`
        if (splitter.lines && isBlank(piece)) {
          if (++summary.blankLines === 1) conversion.onBlank(place)
        } else if (summary.skipped < (conversion.skip ?? 0)) summary.skipped++
        else records.push(conversion.toRecord(piece, place))
      }
      problem = splitter.problem
    } catch (error) {
      problem = error
    }
    await appender.add(records)
    if (problem === undefined) return
    await appender.finish()
    throw problem
  }
  // Ends the input at once. Otherwise the failure would be reported only when the next chunk arrives.
  appender.onFailure = (error) => input.chunks.destroy(error)
  const stop = onInterrupt(() => input.chunks.destroy(new InterruptedError()))
  let readBytes = 0
  try {
    for await (const chunk of input.chunks) {
      await add(splitter.push(chunk as Buffer))
      readBytes += (chunk as Buffer).length
      progress.update(readBytes)
    }
    await add(splitter.end())
  } catch (error) {
    if (error instanceof InterruptedError) await appender.finish()
    throw error
  } finally {
    stop()
  }
  await appender.finish()
}
