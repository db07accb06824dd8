/** Feeds records into a log: many on their way at once, none of them unwatched, memory bounded. */

import type { Progress } from '../terminal/progress.js'
import type { Durability, Log } from '../types.js'
import type { Input, Splitter } from './input.js'

const MAX_BATCH_BYTES = 256 * 1024
/** A frame's header and padding at most. */
const FRAME_BYTES = 32
const MAX_IN_FLIGHT_BYTES = 8 * 1024 * 1024

/** A record to append, with its time where that is not to be the clock's. */
export interface Piece {
  data: Buffer
  time?: number
}

export interface AppendSummary {
  /** -1 where nothing was appended. */
  first: number
  last: number
  records: number
  bytes: number
}

export class Appender {
  readonly summary: AppendSummary = { first: -1, last: -1, records: 0, bytes: 0 }
  readonly #log: Log
  readonly #durability: Durability
  readonly #maxBatchBytes: number
  #inFlightBytes = 0
  #failure: { error: unknown } | undefined
  #wake: (() => void) | undefined

  constructor(log: Log, durability: Durability, segmentBytes: number) {
    this.#log = log
    this.#durability = durability
    this.#maxBatchBytes = Math.min(MAX_BATCH_BYTES, segmentBytes / 4)
  }

  /** Appends `records`, in batches; waits while too many bytes are pending. Throws the error of an earlier record. */
  async add(records: readonly Piece[]): Promise<void> {
    let start = 0
    let bytes = 0
    for (let i = 0; i < records.length; i++) {
      const frameBytes = (records[i] as Piece).data.length + FRAME_BYTES
      if (i > start && bytes + frameBytes > this.#maxBatchBytes) {
        this.#send(records.slice(start, i), bytes)
        start = i
        bytes = 0
        await this.#until(MAX_IN_FLIGHT_BYTES)
      }
      bytes += frameBytes
    }
    if (start < records.length) this.#send(start === 0 ? records : records.slice(start), bytes)
    await this.#until(MAX_IN_FLIGHT_BYTES)
  }

  /** Waits for all of them to reach their level. Throws the first error among them. */
  async finish(): Promise<AppendSummary> {
    await this.#until(0)
    return this.summary
  }

  #send(batch: readonly Piece[], bytes: number): void {
    this.#inFlightBytes += bytes
    const durability = this.#durability
    // One by one: an atomic batch could not be cut in its middle later on.
    Promise.all(batch.map(({ data, time }) => this.#log.append(data, { durability, time })))
      .then((seqs) => {
        const first = seqs[0] as number
        const last = seqs[seqs.length - 1] as number
        const { summary } = this
        if (summary.first === -1) summary.first = first
        summary.last = Math.max(summary.last, last)
        summary.records += batch.length
        summary.bytes += bytes - batch.length * FRAME_BYTES
      })
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      .finally(() => {
        this.#inFlightBytes -= bytes
        this.#wake?.()
      })
  }

  async #until(maxInFlightBytes: number): Promise<void> {
    while (this.#inFlightBytes > maxInFlightBytes && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    this.#wake = undefined
    if (this.#failure !== undefined) throw this.#failure.error
  }
}

/**
 * Appends every record of `input`. Where the input turns out to be wrong, what comes before that is appended
 * first, and then its problem thrown.
 */
export async function appendInput(
  appender: Appender,
  input: Input,
  splitter: Splitter,
  toRecord: (piece: Buffer) => Piece,
  progress: Progress,
): Promise<AppendSummary> {
  const add = async (pieces: Buffer[]): Promise<void> => {
    const { records, problem } = convert(pieces, toRecord)
    if (records.length > 0) await appender.add(records)
    const error = problem ?? splitter.problem
    if (error !== undefined) {
      await appender.finish()
      throw error
    }
  }
  let readBytes = 0
  for await (const chunk of input.chunks) {
    await add(splitter.push(chunk))
    readBytes += chunk.length
    progress.update(readBytes)
  }
  await add(splitter.end())
  return appender.finish()
}

function convert(pieces: Buffer[], toRecord: (piece: Buffer) => Piece): { records: Piece[]; problem: unknown } {
  const records: Piece[] = []
  try {
    for (const piece of pieces) records.push(toRecord(piece))
  } catch (problem) {
    return { records, problem }
  }
  return { records, problem: undefined }
}
