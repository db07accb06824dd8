/**
 * Reads, hashes, compresses and sends the pieces of one archiver in a worker thread, so that this work does not block
 * the caller's event loop. A short piece stays in the caller's thread: an acknowledgement waits for each message
 * between the threads. Holds the body of one object at a time. Only one call may run at a time.
 */
import { join } from 'node:path'
import { WorkerThread } from '../support/worker-thread.js'
import { eraseSlot, sha256Of } from './piece.js'
import {
  hashNow,
  type PieceBody,
  type PieceBytes,
  readBody,
  send,
  type WireAnswer,
  type WireRequest,
} from './piece-io.js'
import type { FromPieceThread, ToPieceThread } from './piece-worker.js'

// Undefined in a bundle of ES modules, which does not include the file. The work is then done in the caller's thread.
const WORKER: string | undefined = typeof __dirname === 'string' ? join(__dirname, 'piece-worker.js') : undefined

const ENDED = 'the thread of the archiver has ended'

export class PieceThread {
  /** The length of the held body in bytes. */
  length = 0
  #thread: WorkerThread<ToPieceThread, FromPieceThread> | undefined
  /** The held body if there is no worker thread, or if the caller's thread sends it. */
  #held: Buffer | undefined

  /** Reads a piece, and compresses it if `compresses` is true. The result replaces the held body. */
  async read(piece: PieceBytes, compresses: boolean): Promise<Omit<PieceBody, 'bytes'>> {
    this.#start()
    if (this.#thread !== undefined) {
      this.#held = undefined
      const { body, length } = await this.#ask<'read'>({ kind: 'read', piece, compresses })
      this.length = length
      return body
    }
    this.#held = undefined
    const { bytes, ...body } = await readBody(piece, compresses, sha256Of)
    this.#held = bytes
    this.length = bytes.length
    return body
  }

  /** Holds a short piece, which is sent from the caller's thread. Erases the slot in its header. */
  hold(bytes: Buffer): Omit<PieceBody, 'bytes'> {
    eraseSlot(bytes)
    this.#held = bytes
    this.length = bytes.length
    const sha256 = hashNow(bytes)
    return { sha256, pieceSha256: sha256, isCompressed: false }
  }

  /** Returns the held body. */
  async bytes(): Promise<Buffer> {
    if (this.#held !== undefined) return this.#held
    return toBuffer((await this.#ask<'bytes'>({ kind: 'bytes' })).bytes)
  }

  /** Sends `request` with the held body. Rejects if there is no response. */
  async send(request: WireRequest, signal: AbortSignal): Promise<WireAnswer> {
    if (this.#held !== undefined) return send(request, this.#held, signal)
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
      return { kind: 'failed', error: { message: `${ENDED}${reason}` } }
    }
    const thread = WorkerThread.start<ToPieceThread, FromPieceThread>(WORKER, 'durlog-archive', onEnded)
    this.#thread = thread
  }

  async #ask<Kind extends FromPieceThread['kind']>(
    message: ToPieceThread,
  ): Promise<Extract<FromPieceThread, { kind: Kind }>> {
    // It may have ended after it had read the piece.
    if (this.#thread === undefined) throw new Error(ENDED)
    const answered = await this.#thread.request(message)
    if (answered.kind === 'failed') throw Object.assign(new Error(answered.error.message), answered.error)
    return answered as Extract<FromPieceThread, { kind: Kind }>
  }
}

/** Converts bytes from another thread: a Buffer that is posted arrives as a Uint8Array. */
function toBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length)
}
