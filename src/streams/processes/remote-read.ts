/** A read from the owner. After a change of the owner it continues with the next one. */
import { onAbort } from '../../options/abort-signal.js'
import { memoryGuard } from '../../support/record-memory.js'
import type { Batches } from '../port/port.js'
import { FrameType, payloadOf, type SocketFrame } from './frames.js'
import { type ReadRequest, recordsHeader, recordsIn, type SentRecord } from './messages.js'

export interface RemoteReadContext {
  send(type: typeof FrameType.more | typeof FrameType.endRead): void
  /** The caller begins or ends to wait for records. */
  onWaiting(waits: boolean): void
  onEnd(): void
}

export class RemoteRead {
  readonly #request: ReadRequest
  readonly #context: RemoteReadContext
  #batches: Buffer[] = []
  #ended = false
  #error: unknown
  #wake: (() => void) | undefined
  /** The seq after the last record that was received. */
  #next: number | undefined
  #created: number | undefined

  constructor(request: ReadRequest, context: RemoteReadContext) {
    this.#request = request
    this.#context = context
  }

  /** The request for the records that were not received yet. */
  resumed(): ReadRequest {
    const request = this.#request
    if (request.kind === 'change' || this.#next === undefined) return request
    const created = request.kind === 'stream' ? { created: this.#created } : {}
    return { ...request, from: this.#next, ...created }
  }

  receive(frame: SocketFrame): void {
    if (frame.type === FrameType.readEnded) this.#ended = true
    else {
      const payload = payloadOf(frame)
      const { created, next } = recordsHeader(payload)
      this.#created = created
      this.#next = next
      this.#batches.push(payload)
    }
    this.#awaken()
  }

  fail(error: unknown): void {
    this.#error = error
    this.#ended = true
    this.#awaken()
  }

  /** Iterates over the records as they arrive. Must be called once. */
  async *batches(signal: AbortSignal): Batches<SentRecord> {
    const forgetSignal = onAbort(signal, () => this.#awaken())
    try {
      const guard = await memoryGuard()
      for (;;) {
        signal.throwIfAborted()
        const batch = this.#batches.shift()
        if (batch !== undefined) {
          const records = [...recordsIn(batch)]
          // Values of bytes are views of it.
          if (records[0]?.value.encoding === 'buffer') guard(batch.buffer)
          yield records
          this.#context.send(FrameType.more)
        } else if (this.#ended) {
          if (this.#error !== undefined) throw this.#error
          return
        } else await this.#change()
      }
    } finally {
      forgetSignal()
      this.#end()
    }
  }

  #end(): void {
    if (!this.#ended) this.#context.send(FrameType.endRead)
    this.#context.onEnd()
  }

  async #change(): Promise<void> {
    const changed = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    this.#context.onWaiting(true)
    await changed
  }

  #awaken(): void {
    const wake = this.#wake
    if (wake === undefined) return
    this.#wake = undefined
    this.#context.onWaiting(false)
    wake()
  }
}
