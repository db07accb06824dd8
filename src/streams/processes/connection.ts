/** One connection of a client to the owner. */
import { connect, type Socket } from 'node:net'
import { type DurlogError, isCode, replacedStreamsError } from '../../errors.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import { folderIdOf } from '../../support/folder-id.js'
import { addressOf } from './address.js'
import {
  type FrameMaker,
  FrameReader,
  FrameType,
  FrameWriter,
  jsonOf,
  type MadeFrame,
  type SocketFrame,
} from './frames.js'
import { type Hello, receivedError, type Welcome } from './messages.js'

export interface ConnectionHandler {
  /** Bytes have arrived. */
  onData(): void
  onFrame(frame: SocketFrame): void
  onLost(): void
}

/** There is no folder yet. (If a file is in its place, the attempt to become the owner reports it.) */
const NO_FOLDER = ['ENOENT', 'ENOTDIR']
/** No process listens on the socket, or the owner has just died. */
const NOT_LISTENING = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'ENOTSOCK', 'EPIPE']

export class Connection {
  readonly #socket: Socket
  readonly #writer: FrameWriter
  /** The id of the folder, see `folderIdOf`. */
  readonly folder: string
  #reject: (error: unknown) => void = () => {}

  private constructor(socket: Socket, maker: FrameMaker, folder: string) {
    this.#socket = socket
    this.folder = folder
    this.#writer = new FrameWriter(socket, maker)
    // The socket does not keep the process alive: the timer of OwnerWatch does, while a request waits.
    socket.unref()
  }

  /**
   * Connects to the owner; undefined if no process listens. Throws ERR_DURLOG_NOT_A_LOG if another folder has replaced
   * the one with the id `expected`.
   */
  static async dial(dir: string, maker: FrameMaker, expected?: string | undefined): Promise<Connection | undefined> {
    let folder: string
    let address: Awaited<ReturnType<typeof addressOf>>
    try {
      folder = await folderIdOf(dir)
      if (folder !== (expected ?? folder)) throw replacedStreamsError(dir)
      address = await addressOf(dir)
    } catch (error) {
      if (NO_FOLDER.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
      throw ofFileSystem(error)
    }
    // Windows: the owner has created the file with the name of its pipe and has not written the name yet.
    if (address.path === '') return undefined
    const socket = connect(address.path)
    try {
      await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
      return new Connection(socket, maker, folder)
    } catch (error) {
      if (NOT_LISTENING.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
      throw ofFileSystem(error)
    } finally {
      address.release()
    }
  }

  /**
   * Sends `hello` and waits for the answer. Later frames go to `handler`. Resolves to undefined if the connection is
   * lost first, and to an ERR_DURLOG_LOCKED if the owner of another folder answers. Rejects if the owner refuses.
   */
  greet(hello: Omit<Hello, 'folder'>, handler: ConnectionHandler): Promise<Welcome | DurlogError | undefined> {
    const reader = new FrameReader()
    let welcomed = false
    return new Promise((resolve, reject) => {
      this.#reject = reject
      const receive = (frame: SocketFrame): void => {
        if (welcomed) handler.onFrame(frame)
        else if (frame.type === FrameType.unwelcome) {
          const error = receivedError(jsonOf(frame))
          if (isCode(error, 'ERR_DURLOG_LOCKED')) resolve(error)
          else reject(error)
        } else if (frame.type === FrameType.welcome) {
          welcomed = true
          resolve(jsonOf(frame) as Welcome)
        }
      }
      this.#socket.on('data', (chunk: Buffer) => {
        handler.onData()
        try {
          reader.push(chunk, receive)
        } catch {
          this.#socket.destroy()
        }
      })
      this.#socket.on('error', () => {})
      this.#socket.on('close', () => {
        if (welcomed) handler.onLost()
        else resolve(undefined)
      })
      this.json(FrameType.hello, 0, { ...hello, folder: this.folder })
    })
  }

  /** Rejects the greeting with `error` and closes the connection. */
  refuse(error: unknown): void {
    this.#reject(error)
    this.#socket.destroy()
  }

  send(frame: MadeFrame): void {
    this.#writer.send(frame)
  }

  json(type: FrameType, id: number, value?: unknown): void {
    this.#writer.json(type, id, value)
  }

  /** Closes the connection after the frames that were sent. No more frames are received. */
  close(): void {
    this.#writer.flush()
    this.#socket.removeAllListeners('data')
    this.#socket.destroySoon()
  }
}
