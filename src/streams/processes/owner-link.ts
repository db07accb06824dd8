/** A client's link to the owner. Finds the owner, or becomes it; repeats unanswered requests with the next owner. */
import { randomBytes } from 'node:crypto'
import { GroupRejection } from '../../caller-stack.js'
import { closedStreamsError, DurlogError, isCode, replacedStreamsError, withOutcome } from '../../errors.js'
import { onAbort } from '../../options/abort-signal.js'
import { clearTimeout, clock, setTimeout } from '../../timers.js'
import { checkHeld } from '../port/port.js'
import { StreamIdentities } from '../port/stream-identities.js'
import type { StreamAppendResult } from '../port/types.js'
import { Connection } from './connection.js'
import { FrameMaker, FrameType, jsonOf, type MadeFrame, type SocketFrame } from './frames.js'
import {
  answeredValue,
  PID_NAMESPACE,
  type PortCall,
  PROTOCOL,
  PROTOCOL_VERSION,
  type ReadRequest,
  receivedError,
  resultsOf,
  type SentEvent,
  type Welcome,
} from './messages.js'
import { LISTEN_WITHIN_MS, type OwnerHost } from './owner-host.js'
import { FAILED_TICKS, OwnerWatch, stalledOwner } from './owner-watch.js'
import { type PendingRequest, PendingRequests } from './pending-requests.js'
import { RemoteRead } from './remote-read.js'

type MakeFrame = (maker: FrameMaker, number: number) => MadeFrame

/** After a longer silence, requests are not repeated: the owner forgets a disconnected client after twice this time. */
const REPEAT_WITHIN_MS = 30_000
const CONFIRM_MS = 100
const RETRY_MS = 5
/** Attempts to connect for each attempt to take the lock, which costs more. */
const DIALS_PER_ATTEMPT = 8

export interface LinkContext {
  dir: string
  host: OwnerHost
  durability: string | undefined
  encoding: string | undefined
  onWelcome(welcome: Welcome): void
  onEvent(event: SentEvent): void
  onStalled(pid: number): void
}

export class OwnerLink {
  readonly client: string = randomBytes(8).toString('hex')
  readonly #context: LinkContext
  readonly #maker = new FrameMaker()
  readonly #submits = new PendingRequests()
  readonly #calls = new PendingRequests()
  readonly #reads = new Map<number, RemoteRead>()
  /** The number of reads whose callers wait for records. */
  #waitingReads = 0
  #connection: Connection | undefined
  #connecting = false
  /** The connection that waits for the owner's welcome. */
  #greeting: Connection | undefined
  #nextRead = 0
  /** The number of the first request that was made after the last long silence. */
  #repeatFrom = 0
  #confirmed = 0
  #confirmTimer: NodeJS.Timeout | undefined
  readonly #watch: OwnerWatch
  /** 0 if it is not known: before the first connection, and if the owner is in another PID namespace. */
  ownerPid = 0
  /** Of the streams of the folder, as its last owner has opened it. */
  identities: StreamIdentities | undefined
  /** The id of the folder; undefined until an owner has accepted this client. */
  #folder: string | undefined
  /** Set by `close`: further calls fail with it. */
  #refusal: DurlogError | undefined
  /** Set when the link is closed, after the requests before `close` were answered. */
  #failure: DurlogError | undefined
  #onIdle: (() => void) | undefined
  /** Gives the errors of answers, whose stack is that of the socket's event, the stacks of the calls. */
  readonly #rejections = new GroupRejection()

  constructor(context: LinkContext) {
    this.#context = context
    this.#watch = new OwnerWatch({
      ping: () => (this.#connection ?? this.#greeting)?.json(FrameType.ping, 0),
      onStalled: () => context.onStalled(this.ownerPid),
      onStalledTick: (ticks) => this.#onStalledTick(ticks),
    })
  }

  /**
   * Submits the frame that `makeFrame` returns or throws. `makeFrame` must not make another request. `resolve` and
   * `reject` must not throw.
   */
  submit(
    makeFrame: MakeFrame,
    resolve: (results: StreamAppendResult[]) => void,
    reject: (rejection: Promise<never>) => void,
  ): void {
    const refuse = (error: DurlogError): void => reject(this.#rejections.rejection(error))
    let frame: MadeFrame
    try {
      this.checkOpen()
      // Until they are answered, requests may have to be repeated with the next owner.
      checkHeld(this.#submits.bytes)
      frame = makeFrame(this.#maker, this.#submits.next)
    } catch (error) {
      refuse(error as DurlogError)
      return
    }
    const { bytes, start, end } = frame
    this.#add(this.#submits, { bytes, start, end, onAnswer: (answer) => resolve(resultsOf(answer)), reject: refuse })
  }

  /** Settles with the value of the answer, or with the payload if the answer is a body. */
  call(call: PortCall): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.checkOpen()
      checkHeld(this.#calls.bytes)
      const { bytes, start, end } = this.#maker.json(FrameType.call, this.#calls.next, call)
      const onAnswer = (answer: SocketFrame): void => {
        try {
          resolve(answeredValue(answer))
        } catch (error) {
          reject(error)
        }
      }
      this.#add(this.#calls, { bytes, start, end, onAnswer, reject })
    })
  }

  /** Throws if the link is closed. */
  checkOpen(): void {
    if (this.#refusal !== undefined) throw this.#refusal
  }

  /** Begins to read. Without a connection, the reading begins with the next owner. */
  read(request: ReadRequest): RemoteRead {
    const id = this.#nextRead++
    const read = new RemoteRead(request, {
      send: (type) => this.#connection?.json(type, id),
      onWaiting: (waits) => {
        this.#waitingReads += waits ? 1 : -1
        this.#keepAlive()
      },
      onEnd: () => {
        this.#reads.delete(id)
        this.#keepAlive()
      },
    })
    this.#reads.set(id, read)
    if (this.#refusal !== undefined) read.fail(this.#refusal)
    else {
      this.#connection?.json(FrameType.read, id, read.resumed())
      this.#reconnect()
    }
    return read
  }

  /** Refuses further calls, ends the readers, waits for the answers of all requests, then leaves the folder. */
  async close(): Promise<void> {
    this.#refusal = closedStreamsError(this.#context.dir)
    for (const read of this.#reads.values()) read.fail(this.#refusal)
    if (this.#submits.size + this.#calls.size > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    this.#confirm()
    this.#failure = this.#refusal
    this.#rejectAll(this.#failure)
    this.#watch.close()
    clearTimeout(this.#confirmTimer)
    this.#greeting?.refuse(this.#failure)
    this.#connection?.close()
    await this.#context.host.close(this.client)
  }

  #add(requests: PendingRequests, request: PendingRequest): void {
    requests.add(request)
    this.#connection?.send(request)
    this.#reconnect()
    if (requests.size === 1) this.#keepAlive()
  }

  /** Connects or becomes the owner. Waits `waitMs` for a process that has the folder open with `exclusive`. */
  async connect(waitMs: number, signal?: AbortSignal | undefined): Promise<void> {
    const { dir, host, durability, encoding } = this.#context
    const startMs = clock.now()
    let dials = 0
    this.#connecting = true
    this.#keepAlive()
    const forgetSignal = onAbort(signal, () => this.#greeting?.refuse(signal?.reason))
    const hello = {
      protocol: PROTOCOL,
      version: PROTOCOL_VERSION,
      client: this.client,
      durability,
      encoding,
      pidNamespace: PID_NAMESPACE,
    }
    try {
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure
        signal?.throwIfAborted()
        // An owner that lacks descriptors closes each new connection: this is also silence.
        if (this.#folder === undefined && this.#greeting !== undefined && this.#watch.stalledTicks >= FAILED_TICKS)
          throw this.#stalled()
        const connection = await Connection.dial(dir, this.#maker, this.#folder)
        if (connection !== undefined && this.#greeting === undefined) this.#watch.restart()
        this.#greeting = connection
        const greeted = connection?.greet(hello, {
          onData: () => this.#onData(),
          onFrame: (frame) => this.#onFrame(frame),
          onLost: () => this.#onLost(),
        })
        if (signal?.aborted === true) connection?.refuse(signal.reason)
        const answer = await greeted
        if (answer !== undefined && !(answer instanceof DurlogError))
          return this.#onWelcome(connection as Connection, answer)
        const mayOwn = connection === undefined || answer !== undefined
        const isOwner =
          mayOwn && dials++ % DIALS_PER_ATTEMPT === 0 && (await host.becomeOwner(this.client, startMs, waitMs, answer))
        if (!isOwner) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    } catch (error) {
      // An owner that has not answered yet has not said its pid either.
      if (!isCode(error, 'ERR_DURLOG_STALLED') || this.ownerPid > 0) throw error
      throw stalledOwner(dir, await host.lockedBy())
    } finally {
      forgetSignal()
      this.#connecting = false
      this.#greeting = undefined
      this.#keepAlive()
    }
  }

  /**
   * Data that arrive after a long silence do not show that the owner works: this process may have been stopped, and the
   * owner may have sent them long ago and died. The next owner may have forgotten this client.
   */
  #onData(): void {
    if (this.#watch.silentMs > REPEAT_WITHIN_MS) this.#repeatFrom = this.#submits.next
    this.#watch.onData()
  }

  #onWelcome(connection: Connection, welcome: Welcome): void {
    if (this.#failure !== undefined) {
      connection.close()
      return
    }
    if (welcome.uuid !== (this.identities ?? welcome).uuid) {
      connection.close()
      throw replacedStreamsError(this.#context.dir)
    }
    this.identities = new StreamIdentities(welcome.uuid, welcome.generation)
    this.#folder = connection.folder
    this.ownerPid = welcome.pidNamespace === PID_NAMESPACE ? welcome.pid : 0
    // Calls that this makes are sent below, with the others.
    this.#context.onWelcome(welcome)
    this.#connection = connection
    this.#submits.rejectBefore(this.#repeatFrom, this.#stalled)
    this.#confirmed = 0
    this.#confirm()
    for (const requests of [this.#submits, this.#calls]) for (const request of requests.all) connection.send(request)
    for (const [id, read] of this.#reads) connection.json(FrameType.read, id, read.resumed())
    // Start the thread now, so that it is running at the next change of the owner.
    this.#context.host.prepare()
  }

  #onLost(): void {
    this.#connection = undefined
    this.#reconnect()
  }

  /** Finds the next owner. If that fails, everything that waits fails, and the next call tries again. */
  #reconnect(): void {
    if (this.#connection !== undefined || this.#connecting || this.#failure !== undefined) return
    this.connect(LISTEN_WITHIN_MS).catch((error: DurlogError) => this.#rejectAll(error))
  }

  #rejectAll(error: DurlogError): void {
    // An owner that has died may have stored them.
    this.#submits.rejectAll(() => (error.outcome === undefined ? withOutcome(error, 'unknown') : error))
    this.#calls.rejectAll(() => error)
    for (const read of this.#reads.values()) read.fail(error)
    this.#keepAlive()
  }

  #onFrame(frame: SocketFrame): void {
    const { type, id } = frame
    if (type === FrameType.stored || type === FrameType.refused) this.#answered(this.#submits, frame)
    else if (type === FrameType.answer || type === FrameType.body) this.#answered(this.#calls, frame)
    else if (type === FrameType.records || type === FrameType.readEnded) this.#reads.get(id)?.receive(frame)
    else if (type === FrameType.readFailed) {
      const error = receivedError(jsonOf(frame))
      // If the owner is closing the folder, the reading continues with the next owner.
      if (error.code !== 'ERR_DURLOG_CLOSED') this.#reads.get(id)?.fail(error)
    } else if (type === FrameType.event) this.#context.onEvent(jsonOf(frame) as SentEvent)
  }

  #answered(requests: PendingRequests, frame: SocketFrame): void {
    const request = requests.take(frame.id)
    if (request === undefined) return
    if (frame.type === FrameType.refused) request.reject(receivedError(jsonOf(frame)))
    else request.onAnswer(frame)
    this.#confirmTimer ??= setTimeout(() => this.#confirm(), CONFIRM_MS).unref()
    if (requests.size === 0) this.#keepAlive()
  }

  /** Reports to the owner that it may forget the results of answered requests. */
  #confirm(): void {
    clearTimeout(this.#confirmTimer)
    this.#confirmTimer = undefined
    const { oldest } = this.#submits
    if (oldest === this.#confirmed) return
    this.#confirmed = oldest
    this.#connection?.json(FrameType.confirm, oldest)
  }

  #keepAlive(): void {
    const requests = this.#submits.size + this.#calls.size
    this.#watch.awaiting = requests > 0 || this.#connecting || this.#waitingReads > 0
    if (requests === 0) this.#onIdle?.()
  }

  #onStalledTick(ticks: number): void {
    // The first owner has not answered the greeting.
    if (this.#folder === undefined && ticks >= FAILED_TICKS) this.#greeting?.refuse(this.#stalled())
    for (const requests of [this.#submits, this.#calls]) requests.tick(ticks, FAILED_TICKS, this.#stalled)
    this.#keepAlive()
  }

  /** The error of a request that was not answered. It is not known whether the owner has stored it. */
  readonly #stalled = (): DurlogError => stalledOwner(this.#context.dir, this.ownerPid)
}
