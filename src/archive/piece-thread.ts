/**
 * Reads, hashes and sends the pieces of one archiver in a thread, so that the caller's event loop does not wait for it. It holds
 * one piece at a time, and is asked one thing at a time.
 */
import { join } from 'node:path'
import { AskedThread } from '../streams/asked-thread.js'
import { HEADER_BYTES, sha256Of } from './piece.js'
import { type PieceBytes, readPiece, send, type WireAnswer, type WireRequest } from './piece-io.js'
import type { FromPieceThread, ToPieceThread } from './piece-worker.js'

// A bundle does not have the file.
const WORKER: string | undefined = typeof __dirname === 'string' ? join(__dirname, 'piece-worker.js') : undefined

export class PieceThread {
  /** Of the piece that is held. */
  length = 0
  #thread: AskedThread<ToPieceThread, FromPieceThread> | undefined
  /** Without a thread. */
  #held: Buffer | undefined

  /** Reads a piece, in place of the one that is held. Returns its SHA-256. */
  async read(piece: PieceBytes): Promise<string> {
    this.length = HEADER_BYTES + piece.end - piece.begin
    this.#start()
    if (this.#thread !== undefined) return (await this.#ask<'read'>({ kind: 'read', piece })).sha256
    this.#held = undefined
    this.#held = await readPiece(piece)
    return sha256Of(this.#held)
  }

  /** The bytes of the piece that is held. */
  async bytes(): Promise<Buffer> {
    if (this.#thread === undefined) return this.#held as Buffer
    return toBuffer((await this.#ask<'bytes'>({ kind: 'bytes' })).bytes)
  }

  /** Sends `request` with the piece that is held. Rejects with the reason why there is no answer. */
  async send(request: WireRequest, signal: AbortSignal): Promise<WireAnswer> {
    if (this.#thread === undefined) return send(request, this.#held, signal)
    signal.throwIfAborted()
    const abort = (): void => this.#thread?.post({ kind: 'abort', reason: (signal.reason as Error).message })
    signal.addEventListener('abort', abort, { once: true })
    try {
      const { answer } = await this.#ask<'sent'>({ kind: 'send', request })
      return { ...answer, body: toBuffer(answer.body) }
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async close(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    this.#held = undefined
    await thread?.terminate()
  }

  #start(): void {
    if (this.#thread !== undefined) return
    const onEnded = (cause?: unknown): FromPieceThread => {
      if (this.#thread === thread) this.#thread = undefined
      const reason = cause === undefined ? '' : `: ${(cause as Error).message}`
      return { kind: 'failed', error: { message: `the thread of the archiver has ended${reason}` } }
    }
    const thread = AskedThread.start<ToPieceThread, FromPieceThread>(WORKER, 'durlog-archive', onEnded)
    this.#thread = thread
  }

  async #ask<Kind extends FromPieceThread['kind']>(
    message: ToPieceThread,
  ): Promise<Extract<FromPieceThread, { kind: Kind }>> {
    const answered = await (this.#thread as AskedThread<ToPieceThread, FromPieceThread>).ask(message)
    if (answered.kind === 'failed') throw Object.assign(new Error(answered.error.message), answered.error)
    return answered as Extract<FromPieceThread, { kind: Kind }>
  }
}

/** A Buffer arrives from another thread as a plain array of bytes. */
function toBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length)
}
