/** The owner's side of one connection. */
import type { Socket } from 'node:net'
import process from 'node:process'
import { DurlogError } from '../../errors.js'
import type { Durability } from '../../index.js'
import { clearInterval, setInterval } from '../../timers.js'
import type { EncodedValue } from '../encoding.js'
import type { StreamStore } from '../store.js'
import type { StreamAppendResult, StreamsCursor } from '../types.js'
import { answerBody, sentView } from './access-calls.js'
import { appendOf } from './append-frame.js'
import { type Frame, FrameMaker, FrameReader, FrameType, FrameWriter, jsonOf } from './frames.js'
import {
  type Call,
  type Hello,
  PID_NAMESPACE,
  PROTOCOL,
  PROTOCOL_VERSION,
  type ReadRequest,
  sentError,
  storedFrame,
  submissionOf,
  type Welcome,
} from './messages.js'
import { recordsOf } from './read-calls.js'
import { ReadPump } from './read-pump.js'
import { answerSubmission } from './submit-calls.js'

/** If the requests in progress have more bytes than this, the owner does not read from the socket. */
const MAX_IN_FLIGHT_BYTES = 1 << 25
/** The approximate memory of a request without its payload. */
const REQUEST_OVERHEAD_BYTES = 512
/** Less than the time after which a client takes the owner for stalled. */
const HEARTBEAT_MS = 250

export interface OwnerContext {
  /** Settles when the folder is open. */
  store: Promise<StreamStore<EncodedValue>>
  durability: Durability
  /** The id of the client of the owner's process. */
  own: string
  /** The id of the owner's folder, see `folderIdOf`. */
  folder: string
  /** The client has sent its id. */
  onClient(session: Session): void
  onClosed(session: Session): void
}

interface Read {
  pump: ReadPump
  abort: AbortController
}

export class Session {
  client = ''
  readonly #socket: Socket
  readonly #reader = new FrameReader()
  readonly #writer: FrameWriter
  readonly #context: OwnerContext
  readonly #reads = new Map<number, Read>()
  readonly #cursors = new Map<string, Promise<StreamsCursor<EncodedValue>>>()
  #store: StreamStore<EncodedValue> | undefined
  #inFlightBytes = 0
  /** The owner is closing: no further requests are read. */
  #closing = false
  #heartbeat: NodeJS.Timeout | undefined

  constructor(socket: Socket, context: OwnerContext) {
    this.#socket = socket
    this.#context = context
    this.#writer = new FrameWriter(socket, new FrameMaker())
    const handle = (frame: Frame): void => this.#handle(frame)
    socket.on('data', (chunk: Buffer) => {
      try {
        this.#reader.push(chunk, handle)
      } catch {
        // The peer does not follow the protocol.
        socket.destroy()
      }
      this.#throttle()
    })
    socket.on('drain', () => this.#throttle())
    socket.on('error', () => {})
    socket.on('close', () => this.#closed())
  }

  event(name: string, value: unknown): void {
    if (this.#store !== undefined) this.#writer.json(FrameType.event, 0, { name, value })
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

  #handle(frame: Frame): void {
    const { type, id } = frame
    const store = this.#store
    if (type === FrameType.ping) this.#writer.json(FrameType.pong, 0)
    else if (type === FrameType.hello) void this.#welcome(jsonOf(frame) as Hello)
    else if (store === undefined) throw new RangeError('a request before the welcome')
    else if (type === FrameType.append) this.#append(store, frame)
    else if (type === FrameType.submit) this.#submit(store, frame)
    else if (type === FrameType.confirm) store.dedup.confirm(this.client, id)
    else if (type === FrameType.call) void this.#call(store, id, jsonOf(frame) as Call)
    else if (type === FrameType.read) this.#read(store, id, jsonOf(frame) as ReadRequest)
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
      const store = await this.#context.store.catch((error) => {
        if (hello.client === this.#context.own) throw error
        // The client tries to open the folder itself.
        this.end()
      })
      if (store === undefined) return
      if (hello.encoding !== undefined && hello.encoding !== store.encoding)
        throw new DurlogError(
          'ERR_DURLOG_INVALID_ARGUMENT',
          `encoding is ${hello.encoding}, but the streams in ${store.dir} have the encoding ${store.encoding}: use that, or leave the option out`,
        )
      this.client = hello.client
      this.#store = store
      this.#context.onClient(this)
      const { encoding, changes, access } = store
      const { uuid, generation } = access.identities
      const welcome: Welcome = {
        pid: process.pid,
        pidNamespace: PID_NAMESPACE,
        durability,
        encoding,
        changes: [...changes],
        uuid,
        generation,
      }
      this.#writer.json(FrameType.welcome, 0, welcome)
    } catch (error) {
      this.#writer.json(FrameType.unwelcome, 0, sentError(error))
      this.end()
    }
  }

  #append(store: StreamStore<EncodedValue>, frame: Frame): void {
    const { id } = frame
    const group = appendOf(frame)
    const bytes = this.#begun(frame)
    store.appendGroup({ client: this.client, number: id }, group, (outcome) => {
      if (outcome instanceof Promise) outcome.catch((error) => this.#refused(id, bytes, error))
      else this.#stored(id, bytes, [outcome])
    })
  }

  #submit(store: StreamStore<EncodedValue>, frame: Frame): void {
    const { id } = frame
    const submission = submissionOf(frame)
    const bytes = this.#begun(frame)
    answerSubmission(store.contextFor({ client: this.client, number: id }), submission).then(
      (results) => this.#stored(id, bytes, results),
      (error) => this.#refused(id, bytes, error),
    )
  }

  /** Counts a request as in progress. Returns the bytes that it takes. */
  #begun({ at, end }: Frame): number {
    const bytes = end - at + REQUEST_OVERHEAD_BYTES
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

  async #call(store: StreamStore<EncodedValue>, id: number, call: Call): Promise<void> {
    try {
      if (call.op === 'body') await answerBody(store.access, id, call, this.#writer)
      else this.#writer.json(FrameType.answer, id, { value: await this.#answer(store, call) })
    } catch (error) {
      if ((error as DurlogError).code === 'ERR_DURLOG_CLOSED' && this.#closing) return
      // Calls and submissions are numbered separately, so an error of a call must not be a `refused` frame.
      this.#writer.json(FrameType.answer, id, { error: sentError(error) })
    }
  }

  async #answer(store: StreamStore<EncodedValue>, call: Exclude<Call, { op: 'body' }>): Promise<unknown> {
    const { access } = store
    if (call.op === 'find') {
      const found = await access.find(call.stream, call.isRead)
      return found && sentView(found)
    }
    if (call.op === 'inherits') return access.inherits(call.stream, call.identity, call.seq)
    if (call.op === 'producerSeq') return access.producerSeq(call.stream, call.producer)
    if (call.op === 'streams') return (await access.list(call.prefix, call.after, call.count)).map(sentView)
    if (call.op === 'count') return access.count(call.prefix)
    if (call.op === 'stats') return access.stats()
    if (call.op === 'info') return store.stream(call.stream).info()
    if (call.op === 'checkpoint') return store.checkpoint()
    if (call.op === 'removeCursor') return store.removeCursor(call.name)
    if (call.op === 'closeCursor') {
      const cursor = await this.#cursors.get(call.name)
      this.#cursors.delete(call.name)
      return cursor?.close()
    }
    const cursor = await this.#cursor(store, call.name, call.op === 'openCursor' ? call.options : undefined)
    if (call.op === 'commit') await cursor.commit(call.position, call.options)
    return cursor.position
  }

  /**
   * Returns the open cursor, or opens it: after a change of the owner, a client calls a cursor that this owner has not
   * opened.
   */
  #cursor(store: StreamStore<EncodedValue>, name: string, options?: object): Promise<StreamsCursor<EncodedValue>> {
    let cursor = this.#cursors.get(name)
    if (cursor === undefined) {
      cursor = store.cursor(name, options)
      this.#cursors.set(name, cursor)
      cursor.catch(() => this.#cursors.delete(name))
    }
    return cursor
  }

  #read(store: StreamStore<EncodedValue>, id: number, request: ReadRequest): void {
    if (this.#reads.has(id)) throw new RangeError('two readers with one id')
    const abort = new AbortController()
    const created = (): number => (request.kind === 'stream' ? (store.createdAt(request.stream) ?? -1) : -1)
    const records = recordsOf(store, request, abort.signal)
    const pump = new ReadPump({ id, records, created, writer: this.#writer })
    this.#reads.set(id, { pump, abort })
    void pump.run().finally(() => this.#reads.delete(id))
  }

  #endRead(id: number): void {
    const read = this.#reads.get(id)
    read?.pump.end()
    read?.abort.abort()
  }

  /** Pauses or resumes reading, so that requests in progress and unread answers take limited memory. */
  #throttle(): void {
    const busy = this.#inFlightBytes > MAX_IN_FLIGHT_BYTES || this.#socket.writableLength > MAX_IN_FLIGHT_BYTES
    if (busy || this.#closing) this.#socket.pause()
    else if (this.#socket.isPaused()) this.#socket.resume()
    if (this.#pingsWait) this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref()
  }

  /** Pings of the client may wait in the socket: it is not read, or they follow a frame that is not complete. */
  get #pingsWait(): boolean {
    return this.#socket.isPaused() || this.#reader.isWithinFrame
  }

  /** Informs the client that the owner works, as the answer to a ping would. */
  #beat(): void {
    if (this.#pingsWait) {
      this.#writer.json(FrameType.pong, 0)
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
    this.#context.onClosed(this)
  }
}
