/** The messages that were sent to a stream and wait for their acknowledgements, which arrive in the same order. */
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { clearTimeout, clock, setTimeout } from '../timers.js'
import type { AckTimeout } from './ack-timeout.js'
import { type PubAck, pubAckIn } from './pub-ack.js'
import { DuplicateMessage, Unanswered } from './refusals.js'

interface Pending {
  token: string
  onAck: (ack: PubAck) => void
}

const PUBLISHING = 'publishing'

export class Publications {
  readonly #nc: NatsConnection
  readonly #inbox: string
  readonly #ackTimeout: AckTimeout
  readonly #onFailure: (error: Error) => void
  readonly #unsubscribe: () => void
  readonly #pending: Pending[] = []
  #taken = 0
  #count = 0
  #timer: NodeJS.Timeout | undefined
  /** When the timer was started or refreshed. */
  #waitingSince = 0
  #failed = false

  /** `onFailure` is called at most once. After that no `onAck` is called. */
  constructor(nc: NatsConnection, inbox: string, ackTimeout: AckTimeout, onFailure: (error: Error) => void) {
    this.#nc = nc
    this.#inbox = inbox
    this.#ackTimeout = ackTimeout
    this.#onFailure = onFailure
    const subscription = nc.subscribe(`${inbox}.*`, {
      callback: (error, message) => (error === null ? this.#answer(message) : this.fail(error)),
    })
    this.#unsubscribe = () => subscription.unsubscribe()
  }

  /** The number of messages that wait for their acknowledgement. */
  get pending(): number {
    return this.#pending.length - this.#taken
  }

  /** Publishes a message without requesting an acknowledgement. */
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

  /** Ignores all further acknowledgements. */
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
      // The connection was closed meanwhile.
      this.fail(error as Error)
    }
  }

  #startTimer(): NodeJS.Timeout {
    const { ms } = this.#ackTimeout
    this.#waitingSince = clock.now()
    return setTimeout(() => {
      this.#ackTimeout.unanswered()
      this.fail(new Unanswered(`${PUBLISHING}: no acknowledgement within ${ms} ms`))
    }, ms)
  }

  #answer(message: Msg): void {
    if (this.#failed) return
    let ack: PubAck
    try {
      this.#checkTurn(message)
      ack = pubAckIn(message, PUBLISHING)
      if (ack.duplicate) throw new DuplicateMessage(`${PUBLISHING}: the server has already received this message`)
    } catch (error) {
      this.fail(error as Error)
      return
    }
    const { onAck } = this.#take()
    this.#noteAnswer()
    onAck(ack)
  }

  /** Restarts the timeout: it applies to the time between two acknowledgements. */
  #noteAnswer(): void {
    const now = clock.now()
    this.#ackTimeout.answered(now - this.#waitingSince)
    this.#waitingSince = now
    if (this.pending > 0) {
      this.#timer?.refresh()
      return
    }
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #checkTurn({ subject }: Msg): void {
    const head = this.#pending[this.#taken]
    if (head === undefined || !subject.endsWith(`.${head.token}`))
      throw new Error(`${PUBLISHING}: an acknowledgement is missing`)
  }

  /**
   * Removes the oldest pending message. Shortens the array only occasionally, because the cost of that grows with its
   * length.
   */
  #take(): Pending {
    const head = this.#pending[this.#taken++] as Pending
    if (this.#taken > 1024 || this.#taken === this.#pending.length) {
      this.#pending.splice(0, this.#taken)
      this.#taken = 0
    }
    return head
  }
}
