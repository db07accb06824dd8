/** Messages on their way to a stream, and its answers, which come in the same order. */
import { clearTimeout, setTimeout } from 'node:timers'
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { type ApiError, DuplicateMessage, fromApiError } from './refusals.js'

export interface PubAck {
  seq: number
  /** Of a batch: how many messages it had. */
  count?: number
}

interface Pending {
  token: string
  onAck: (ack: PubAck) => void
}

const PUBLISHING = 'publishing'

export class Publications {
  readonly #nc: NatsConnection
  readonly #inbox: string
  readonly #timeoutMs: number
  readonly #onFailure: (error: Error) => void
  readonly #unsubscribe: () => void
  readonly #pending: Pending[] = []
  #taken = 0
  #count = 0
  #timer: NodeJS.Timeout | undefined
  #failed = false

  /** `onFailure` is called at most once, and no answer is passed on after it. */
  constructor(nc: NatsConnection, inbox: string, timeoutMs: number, onFailure: (error: Error) => void) {
    this.#nc = nc
    this.#inbox = inbox
    this.#timeoutMs = timeoutMs
    this.#onFailure = onFailure
    const subscription = nc.subscribe(`${inbox}.*`, {
      callback: (error, message) => (error === null ? this.#answer(message) : this.fail(error)),
    })
    this.#unsubscribe = () => subscription.unsubscribe()
  }

  /** Messages that wait for their answer. */
  get pending(): number {
    return this.#pending.length - this.#taken
  }

  /** Publishes a message whose answer is not asked for. */
  send(subject: string, data: Uint8Array, headers: MsgHdrs): void {
    this.#publish(subject, data, { headers })
  }

  request(subject: string, data: Uint8Array, headers: MsgHdrs, onAck: (ack: PubAck) => void): void {
    const token = String(this.#count++)
    this.#pending.push({ token, onAck })
    this.#publish(subject, data, { headers, reply: `${this.#inbox}.${token}` })
    this.#timer ??= this.#startTimer()
  }

  fail(error: Error): void {
    if (this.#failed) return
    this.stop()
    this.#onFailure(error)
  }

  /** Listens to no answer any more. */
  stop(): void {
    this.#failed = true
    clearTimeout(this.#timer)
    if (!this.#nc.isClosed()) this.#unsubscribe()
  }

  #publish(subject: string, data: Uint8Array, options: { headers: MsgHdrs; reply?: string }): void {
    if (this.#failed) return
    try {
      this.#nc.publish(subject, data, options)
    } catch (error) {
      // The connection has been closed since.
      this.fail(error as Error)
    }
  }

  #startTimer(): NodeJS.Timeout {
    return setTimeout(
      () => this.fail(new Error(`${PUBLISHING}: no acknowledgement within ${this.#timeoutMs} ms`)),
      this.#timeoutMs,
    )
  }

  #answer(message: Msg): void {
    if (this.#failed) return
    const failure = this.#failureIn(message)
    if (failure !== undefined) {
      this.fail(failure)
      return
    }
    const { onAck } = this.#take()
    if (this.pending === 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
    } else this.#timer?.refresh()
    onAck(message.json<PubAck>())
  }

  #failureIn(message: Msg): Error | undefined {
    const head = this.#pending[this.#taken]
    if (head === undefined || !message.subject.endsWith(`.${head.token}`))
      return new Error(`${PUBLISHING}: an acknowledgement is missing`)
    if (message.headers?.code === 503) return new Error(`${PUBLISHING}: no server answers for this subject now`)
    const { error, duplicate } = message.json<{ error?: ApiError; duplicate?: boolean }>()
    if (error !== undefined) return fromApiError(error, PUBLISHING)
    return duplicate === true ? new DuplicateMessage(`${PUBLISHING}: the message is known already`) : undefined
  }

  /** The oldest one. The array is cut now and then, so that taking one costs the same however many there are. */
  #take(): Pending {
    const head = this.#pending[this.#taken++] as Pending
    if (this.#taken > 1024 || this.#taken === this.#pending.length) {
      this.#pending.splice(0, this.#taken)
      this.#taken = 0
    }
    return head
  }
}
