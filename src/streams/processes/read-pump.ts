/** Sends records to a reader in another process, at the speed at which the reader takes them. */
import { clearImmediate, setImmediate } from '../../timers.js'
import { FrameType, type FrameWriter } from './frames.js'
import {
  RECORD_HEADER_BYTES,
  RECORDS_HEADER_BYTES,
  type SentRecord,
  sentError,
  writeRecord,
  writeRecordsHeader,
} from './messages.js'

/** The limits of a frame. A longer record gets its own frame. */
const BATCH_BYTES = 1 << 18
const BATCH_RECORDS = 1024
/** The number of frames that may be sent before the reader has taken one. */
const CREDIT = 4

export interface PumpContext {
  id: number
  batches: AsyncIterable<SentRecord[]>
  /** Returns the position of the entry that created the stream, as of now; -1 if all streams are read. */
  created(): number
  /** Whether the client has left so much in the socket that nothing more may be sent. Then `resume` is called later. */
  isFull(): boolean
  writer: FrameWriter
}

export class ReadPump {
  readonly #context: PumpContext
  #credit = CREDIT
  #batch: SentRecord[] = []
  #bytes = 0
  /** The value of `created()` when the first record of the batch was read. */
  #created = -1
  #wake: (() => void) | undefined
  #immediate: NodeJS.Immediate | undefined
  #ended = false

  constructor(context: PumpContext) {
    this.#context = context
  }

  /** The reader has taken a frame. */
  more(): void {
    // Not more: the frames that a client does not read are kept in memory.
    this.#credit = Math.min(this.#credit + 1, CREDIT)
    this.resume()
  }

  /** Continues if more may be sent now. */
  resume(): void {
    this.#wake?.()
    this.#wake = undefined
    this.#soon()
  }

  end(): void {
    this.#ended = true
    this.#wake?.()
    clearImmediate(this.#immediate)
  }

  async run(): Promise<void> {
    const { id, batches, writer } = this.#context
    try {
      for await (const records of batches) {
        for (const record of records) {
          if (this.#ended) return
          if (this.#batch.length === 0) this.#created = this.#context.created()
          this.#batch.push(record)
          this.#bytes += RECORD_HEADER_BYTES + record.value.data.length
          if (this.#bytes >= BATCH_BYTES || this.#batch.length >= BATCH_RECORDS) await this.#flushed()
        }
        this.#soon()
        // Records that may not be sent yet are not read either.
        await this.#untilMaySend()
      }
      await this.#flushed()
      if (!this.#ended) writer.json(FrameType.readEnded, id)
    } catch (error) {
      await this.#flushed()
      if (!this.#ended) writer.json(FrameType.readFailed, id, sentError(error))
    } finally {
      this.end()
    }
  }

  /** Schedules sending the batch, for the case that no further record is ready. */
  #soon(): void {
    if (this.#maySend && this.#batch.length > 0) this.#immediate ??= setImmediate(() => this.#flush())
  }

  async #flushed(): Promise<void> {
    await this.#untilMaySend()
    this.#flush()
  }

  get #maySend(): boolean {
    return this.#credit > 0 && !this.#context.isFull()
  }

  async #untilMaySend(): Promise<void> {
    while (!this.#maySend && !this.#ended)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
  }

  #flush(): void {
    clearImmediate(this.#immediate)
    this.#immediate = undefined
    if (this.#batch.length === 0 || this.#ended || !this.#maySend) return
    this.#credit--
    const { id, writer } = this.#context
    const { maker } = writer
    const at = maker.begin(FrameType.records, id, RECORDS_HEADER_BYTES + this.#bytes)
    const { seq } = this.#batch.at(-1) as SentRecord
    const created = this.#created === this.#context.created() ? this.#created : -1
    let end = writeRecordsHeader(maker.bytes, at, { created, next: seq + 1 })
    for (const record of this.#batch) end = writeRecord(maker.bytes, end, record)
    maker.shorten(end)
    this.#batch = []
    this.#bytes = 0
    writer.send(maker)
  }
}
