/** The owner's side of one connection. */
import type { Socket } from 'node:net'
import process from 'node:process'
import { DurlogError } from '../../errors.js'
import type { AppendDurability, CursorOptions, LogRecord } from '../../index.js'
import { isWhole } from '../../options/checks.js'
import { TimeSlice } from '../../support/time-slice.js'
import { Turns } from '../../support/turns.js'
import { clearInterval, setImmediate, setInterval } from '../../timers.js'
import type { LocalPort } from '../core/local-port.js'
import { type ReadInTurn, readAll } from '../core/stream-reader.js'
import { placeOf } from '../files/record-source.js'
import { Body } from '../port/body.js'
import { checkEncoding, EncodedValue } from '../port/encoding.js'
import type { Batches, Group, PortCursor, SeenState, StreamView } from '../port/port.js'
import type { StreamAppendResult, StreamInfo } from '../port/types.js'
import type { RequestId } from '../state/dedup-table.js'
import { EMPTY } from '../state/entry.js'
import { FrameMaker, FrameReader, FrameType, FrameWriter, jsonOf, type SocketFrame } from './frames.js'
import {
  type BodyRequest,
  bodyFrame,
  type Hello,
  PID_NAMESPACE,
  type PortCall,
  PROTOCOL,
  PROTOCOL_VERSION,
  type ReadRequest,
  readRequestOf,
  type SentEvent,
  type SentFile,
  type SentRecord,
  sentError,
  storedFrame,
  type Welcome,
} from './messages.js'
import { ReadPump } from './read-pump.js'
import { type Submission, SubmitOp, submissionOf } from './submission.js'

/** If the requests in progress have more bytes than this, the owner does not read from the socket. */
const MAX_IN_FLIGHT_BYTES = 1 << 25
/** The approximate memory of a request without its payload. */
const REQUEST_OVERHEAD_BYTES = 512
/** The number of reads of records that are in progress for a client. Each holds up to 1 MiB, or one longer record. */
const READS = 16
/** The limit of the records that are sent in one answer, unless one is longer. */
const BODY_MAX_BYTES = 1 << 20
/** More streams than any client asks for. */
const MAX_LISTED = 4096
/** The number of events that wait for a client that does not read. Of more, the latest are kept. */
const EVENTS_MAX = 256
/** Less than the time after which a client takes the owner for stalled. */
const HEARTBEAT_MS = 250

export interface OwnerContext {
  /** Settles when the folder is open. */
  port: Promise<LocalPort>
  durability: AppendDurability
  /** The id of the client of the owner's process. */
  own: string
  /** The id of the owner's folder, see `folderIdOf`. */
  folder: string
  /** The client has sent its id. */
  onClient(session: ClientSession): void
  onClosed(session: ClientSession): void
}

interface Read {
  pump: ReadPump
  abort: AbortController
}

export class ClientSession {
  client = ''
  readonly #socket: Socket
  readonly #reader = new FrameReader()
  readonly #writer: FrameWriter
  readonly #context: OwnerContext
  readonly #reads = new Map<number, Read>()
  readonly #reading = new Turns(READS)
  /** They wait until the client reads. */
  readonly #events: SentEvent[] = []
  /** Called when the client has taken its answers, or has gone. */
  readonly #onTaken: (() => void)[] = []
  readonly #cursors = new Map<string, Promise<PortCursor>>()
  #port: LocalPort | undefined
  #inFlightBytes = 0
  /** The time in which this turn of the event loop may handle requests; undefined until it has received some. */
  #turn: TimeSlice | undefined
  /** The owner is closing: no further requests are read. */
  #closing = false
  #heartbeat: NodeJS.Timeout | undefined

  constructor(socket: Socket, context: OwnerContext) {
    this.#socket = socket
    this.#context = context
    this.#writer = new FrameWriter(socket, new FrameMaker())
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('drain', () => this.#taken())
    socket.on('error', () => {})
    socket.on('close', () => this.#closed())
  }

  event(name: string, value: unknown): void {
    if (this.#port === undefined) return
    if (this.#events.push({ name, value }) > EVENTS_MAX) this.#events.shift()
    this.#sendEvents()
  }

  #sendEvents(): void {
    if (!this.#hasUnread) for (const event of this.#events.splice(0)) this.#writer.json(FrameType.event, 0, event)
  }

  /** Stops reading requests. Those in progress are still answered. */
  stop(): void {
    this.#closing = true
    this.#throttle()
  }

  /** Closes the connection after sending all answers. */
  end(): void {
    for (const { pump } of this.#reads.values()) pump.end()
    this.#writer.flush()
    this.#socket.destroySoon()
  }

  /** Handles requests as long as the session is not busy, the rest in later turns of the event loop. */
  #receive(chunk: Buffer): void {
    this.#turn ??= this.#beginTurn()
    try {
      this.#reader.push(chunk, this.#handle, () => !this.#isBusy)
    } catch {
      // The peer does not follow the protocol.
      this.#socket.destroy()
    }
    this.#throttle()
  }

  readonly #handle = (frame: SocketFrame): void => {
    const { type, id } = frame
    const port = this.#port
    if (type === FrameType.ping) this.#writer.json(FrameType.pong, 0)
    else if (type === FrameType.hello) void this.#welcome(jsonOf(frame) as Hello)
    else if (port === undefined) throw new RangeError('a request before the welcome')
    else if (type === FrameType.submit) this.#submit(port, frame)
    else if (type === FrameType.confirm) port.table.dedup.confirm(this.client, id)
    else if (type === FrameType.call) void this.#call(port, frame, Object(jsonOf(frame)) as PortCall)
    else if (type === FrameType.read) this.#read(port, id, readRequestOf(jsonOf(frame)))
    else if (type === FrameType.more) this.#reads.get(id)?.pump.more()
    else if (type === FrameType.endRead) this.#endRead(id)
    else throw new RangeError('a frame of an unknown type')
  }

  async #welcome(hello: Hello): Promise<void> {
    try {
      if (hello.protocol !== PROTOCOL || !/^[0-9a-f]{16}$/.test(hello.client)) throw new RangeError('not a client')
      const isNear = hello.pidNamespace === PID_NAMESPACE
      const owner = isNear ? `process ${process.pid}` : 'another process'
      if (hello.version !== PROTOCOL_VERSION)
        throw new DurlogError(
          'ERR_DURLOG_VERSION',
          `${owner}, which has the folder open, uses version ${PROTOCOL_VERSION} of the protocol between processes; got ${hello.version}: use the same version of durlog in all processes`,
        )
      const { durability, folder } = this.#context
      if (hello.folder !== folder)
        throw new DurlogError(
          'ERR_DURLOG_LOCKED',
          `the folder has hard links to files of another folder, which ${owner} has open: copy the files instead`,
          isNear ? { ownerPid: process.pid } : {},
        )
      if (hello.durability !== undefined && hello.durability !== durability)
        throw new DurlogError(
          'ERR_DURLOG_INVALID_ARGUMENT',
          `${owner} has the folder open with the durability ${durability}; got ${hello.durability}: use the same durability in all processes`,
        )
      const port = await this.#context.port.catch((error) => {
        if (hello.client === this.#context.own) throw error
        // The client tries to open the folder itself.
        this.end()
      })
      if (port === undefined) return
      checkEncoding(port.dir, hello.encoding, port.encoding)
      this.client = hello.client
      this.#port = port
      this.#context.onClient(this)
      const { encoding, changes, checkpointFailure } = port
      const { uuid, generation } = port.identities
      const welcome: Welcome = {
        pid: process.pid,
        pidNamespace: PID_NAMESPACE,
        durability,
        encoding,
        changes: [...changes],
        checkpointFailure: checkpointFailure && sentError(checkpointFailure),
        uuid,
        generation,
      }
      this.#writer.json(FrameType.welcome, 0, welcome)
    } catch (error) {
      this.#writer.json(FrameType.unwelcome, 0, sentError(error))
      this.end()
    }
  }

  #submit(port: LocalPort, frame: SocketFrame): void {
    const { id } = frame
    const submission = submissionOf(frame)
    const bytes = this.#begun(frame)
    const settle = (outcome: StreamAppendResult | Promise<StreamAppendResult | StreamAppendResult[]>): void => {
      if (!(outcome instanceof Promise)) this.#stored(id, bytes, [outcome])
      else
        outcome.then(
          (results) => this.#stored(id, bytes, [results].flat()),
          (error) => this.#refused(id, bytes, error),
        )
    }
    try {
      const request = { client: this.client, number: id }
      if (submission.op === SubmitOp.append) port.append(submission.groups[0] as Group, settle, request)
      else settle(change(port, submission, request))
    } catch (error) {
      // If this closed the connection, the client would repeat the request without end.
      settle(Promise.reject(error))
    }
  }

  /** Counts a request as in progress. `answerBytes` may be kept for its answer. Returns the bytes that it takes. */
  #begun({ at, end }: SocketFrame, answerBytes = 0): number {
    const bytes = end - at + REQUEST_OVERHEAD_BYTES + answerBytes
    this.#inFlightBytes += bytes
    return bytes
  }

  #stored(id: number, bytes: number, results: readonly StreamAppendResult[]): void {
    this.#writer.send(storedFrame(this.#writer.maker, id, results))
    this.#done(bytes)
  }

  #refused(id: number, bytes: number, error: DurlogError): void {
    // If the owner is closing, the client repeats the request with the next owner.
    if (error.code !== 'ERR_DURLOG_CLOSED') this.#writer.json(FrameType.refused, id, sentError(error))
    this.#done(bytes)
  }

  #done(bytes: number): void {
    this.#inFlightBytes -= bytes
    this.#throttle()
  }

  async #call(port: LocalPort, frame: SocketFrame, call: PortCall): Promise<void> {
    const { id } = frame
    const bytes = this.#begun(frame, call.op === 'body' ? BODY_MAX_BYTES : 0)
    try {
      if (call.op === 'body') await this.#answerBody(port, id, call)
      else this.#writer.json(FrameType.answer, id, { value: await this.#answer(port, call) })
    } catch (error) {
      if ((error as DurlogError).code === 'ERR_DURLOG_CLOSED' && this.#closing) return
      // Calls and submissions are numbered separately, so an error of a call must not be a `refused` frame.
      this.#writer.json(FrameType.answer, id, { error: sentError(error) })
    } finally {
      this.#done(bytes)
    }
  }

  /** Answers with records, or with the description of the file that has them. */
  async #answerBody(
    port: LocalPort,
    id: number,
    { stream: name, created, from, to, maxBytes, fromFile }: BodyRequest,
  ): Promise<void> {
    if (!isWhole(from) || !isWhole(to)) throw new RangeError('a request for records that do not exist')
    const stream = port.state(name, created)
    const { file, owner, end } = placeOf(stream, from)
    if (file !== undefined && !fromFile) {
      const { first, next, bytes, crc, index } = file
      const fileName = owner.fileName(first)
      const sent: SentFile = { first, next, bytes, crc, index: index.toString('base64'), fileName, end }
      this.#writer.json(FrameType.answer, id, { value: sent })
      return
    }
    const body = new Body(stream.meta.encoding, Math.min(maxBytes, BODY_MAX_BYTES))
    await this.#inTurn(async () => {
      const read = await port.read({ name, created, visible: Math.min(to, stream.visible) }, from, body)
      this.#writer.send(bodyFrame(this.#writer.maker, id, read, body))
    })
  }

  async #answer(port: LocalPort, call: Exclude<PortCall, { op: 'body' }>): Promise<unknown> {
    if (call.op === 'find') {
      const found = await port.find(call.stream, call.isRead)
      return found && sentView(found)
    }
    if (call.op === 'inherits') return port.inherits(call.stream, call.identity, call.seq)
    if (call.op === 'lastAppend') return port.lastAppend(call.stream, call.producer)
    if (call.op === 'streams')
      return (await port.list(call.prefix, call.after, Math.min(call.count, MAX_LISTED))).map(sentView)
    if (call.op === 'count') return port.count(call.prefix)
    if (call.op === 'stats') return port.stats()
    if (call.op === 'info') return port.info(call.stream)
    if (call.op === 'checkpoint') return port.checkpoint()
    if (call.op === 'removeCursor') return port.removeCursor(call.name)
    if (call.op === 'closeCursor') {
      const cursor = await this.#cursors.get(call.name)
      this.#cursors.delete(call.name)
      return cursor?.close()
    }
    const cursor = await this.#cursor(port, call.name, call.op === 'openCursor' ? call.options : undefined)
    if (call.op === 'commit') await cursor.commit(call.position, call.options)
    return cursor.position
  }

  /**
   * Returns the open cursor, or opens it: after a change of the owner, a client calls a cursor that this owner has not
   * opened.
   */
  #cursor(port: LocalPort, name: string, options: CursorOptions = {}): Promise<PortCursor> {
    let cursor = this.#cursors.get(name)
    if (cursor === undefined) {
      cursor = port.cursor(name, options)
      this.#cursors.set(name, cursor)
      cursor.catch(() => this.#cursors.delete(name))
    }
    return cursor
  }

  #read(port: LocalPort, id: number, request: ReadRequest): void {
    if (this.#reads.has(id)) throw new RangeError('two readers with one id')
    const abort = new AbortController()
    const created = (): number => (request.kind === 'stream' ? (port.table.find(request.stream)?.created ?? -1) : -1)
    const batches = batchesOf(port, request, abort.signal, this.#inTurn)
    const isFull = (): boolean => this.#hasUnread
    const pump = new ReadPump({ id, batches, created, isFull, writer: this.#writer })
    this.#reads.set(id, { pump, abort })
    void pump.run().finally(() => this.#reads.delete(id))
  }

  /** Runs a read of records: a few at a time, and none while the client leaves too many of them in the socket. */
  readonly #inTurn: ReadInTurn = (read) =>
    this.#reading.take(async () => {
      while (this.#hasUnread && !this.#socket.destroyed)
        await new Promise<void>((resolve) => this.#onTaken.push(resolve))
      return read()
    })

  get #hasUnread(): boolean {
    return this.#socket.writableLength > MAX_IN_FLIGHT_BYTES
  }

  #taken(): void {
    for (const wake of this.#onTaken.splice(0)) wake()
    for (const { pump } of this.#reads.values()) pump.resume()
    this.#sendEvents()
    this.#throttle()
  }

  #endRead(id: number): void {
    const read = this.#reads.get(id)
    read?.pump.end()
    read?.abort.abort()
  }

  /** A turn reads up to 2 MiB from a socket, which may be tens of thousands of requests. */
  #beginTurn(): TimeSlice {
    setImmediate(() => {
      this.#turn = undefined
      if (this.#reader.holdsFrame && !this.#isBusy) this.#receive(EMPTY)
      else this.#throttle()
    })
    return new TimeSlice()
  }

  /** Requests in progress and unread answers take limited memory, and requests limited time of one turn. */
  get #isBusy(): boolean {
    const isFull = this.#inFlightBytes > MAX_IN_FLIGHT_BYTES || this.#hasUnread
    return isFull || this.#closing || this.#socket.destroyed || this.#turn?.isSpent === true
  }

  /** Pauses or resumes reading. */
  #throttle(): void {
    if (this.#isBusy) this.#socket.pause()
    // Not in this turn: a call of the port may be in progress.
    else if (this.#reader.holdsFrame) this.#turn ??= this.#beginTurn()
    else if (this.#socket.isPaused()) this.#socket.resume()
    if (this.#pingsWait) this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref()
  }

  /** Pings of the client may wait in the socket: it is not read, or they follow a frame that is not complete. */
  get #pingsWait(): boolean {
    return this.#socket.isPaused() || this.#reader.holdsBytes
  }

  /** Informs the client that the owner works, as the answer to a ping would. */
  #beat(): void {
    if (this.#pingsWait) {
      // If it does not read, there is no need for more bytes.
      if (!this.#hasUnread) this.#writer.json(FrameType.pong, 0)
      return
    }
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }

  #closed(): void {
    clearInterval(this.#heartbeat)
    for (const id of this.#reads.keys()) this.#endRead(id)
    for (const cursor of this.#cursors.values()) cursor.then((open) => open.close()).catch(() => {})
    this.#cursors.clear()
    for (const wake of this.#onTaken.splice(0)) wake()
    this.#context.onClosed(this)
  }
}

/** Carries out a submission other than an append of one group. */
async function change(
  port: LocalPort,
  { op, groups, creation }: Submission,
  request: RequestId,
): Promise<StreamAppendResult | StreamAppendResult[]> {
  if (op === SubmitOp.batch) return port.appendBatch(groups, request)
  const { stream, values } = groups[0] as Group
  const isNew =
    creation === undefined ? await port.delete(stream, request) : await port.create(stream, creation, values, request)
  return { seq: -1, duplicate: !isNew }
}

/** Only these members are sent: readers need no others, and some cannot be sent as JSON. */
function sentView(state: StreamView): StreamView {
  const { name, created, meta, firstSeq, visible, ended, endVisible, softDeleted, lifeMs } = state
  return { name, created, meta, firstSeq, visible, ended, endVisible, softDeleted, lifeMs }
}

/** The records that a client reads. Values are sent as they are stored. */
async function* batchesOf(
  port: LocalPort,
  request: ReadRequest,
  signal: AbortSignal,
  inTurn: ReadInTurn,
): Batches<SentRecord> {
  if (request.kind === 'change') return changeFrom(port, request.seen, signal)
  if (request.kind === 'list') {
    for await (const states of port.statesWith(request.prefix, request.from ?? 0, signal))
      yield states.map((state) => sentInfo(port.infoOf(state), state.created))
  } else if (request.kind === 'all') yield* readAll(port, request, sentEntry, signal)
  else yield* port.readStream(request.stream, request, true, signal, inTurn) as Batches<SentRecord>
}

function sentEntry({ seq, timestamp, data }: LogRecord): SentRecord {
  return { seq, timestamp, position: seq, value: new EncodedValue('buffer', data) }
}

function sentInfo(info: StreamInfo, created: number): SentRecord {
  const value = new EncodedValue('json', Buffer.from(JSON.stringify(info)))
  return { seq: created, timestamp: 0, position: 0, value }
}

/** Settles when the state of the stream differs from `seen`, or when `signal` aborts. */
function changeFrom(port: LocalPort, seen: SeenState, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const forget = port.onChange(seen, resolve)
    signal.addEventListener('abort', () => {
      forget()
      resolve()
    })
  })
}
