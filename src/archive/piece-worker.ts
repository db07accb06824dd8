/** The program of an archiver's worker thread, which holds the body of one object at a time. */
import { parentPort } from 'node:worker_threads'
import {
  hashNow,
  type PieceBody,
  type PieceBytes,
  readBody,
  send,
  type WireAnswer,
  type WireRequest,
} from './piece-io.js'

export type ToPieceThread =
  | { kind: 'read'; piece: PieceBytes; compresses: boolean }
  | { kind: 'send'; request: WireRequest }
  | { kind: 'bytes' }
  | { kind: 'abort'; reason: string }

export type FromPieceThread =
  | { kind: 'read'; body: Omit<PieceBody, 'bytes'>; length: number }
  | { kind: 'sent'; answer: WireAnswer }
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'failed'; error: Partial<NodeJS.ErrnoException> & { message: string } }

const port = parentPort as NonNullable<typeof parentPort>
let held: Buffer = Buffer.alloc(0)
let sending = new AbortController()

async function answerTo(message: Exclude<ToPieceThread, { kind: 'abort' }>): Promise<FromPieceThread> {
  if (message.kind === 'read') {
    // Frees the previous piece before the next one is read: both may be large.
    held = Buffer.alloc(0)
    const { piece, compresses } = message
    const { bytes, ...body } = await readBody(piece, compresses, hashNow)
    held = bytes
    return { kind: 'read', body, length: held.length }
  }
  if (message.kind === 'bytes') return { kind: 'bytes', bytes: held }
  sending = new AbortController()
  return { kind: 'sent', answer: await send(message.request, held, sending.signal) }
}

async function handle(asked: ToPieceThread): Promise<void> {
  if (asked.kind === 'abort') return sending.abort(new Error(asked.reason))
  try {
    port.postMessage(await answerTo(asked))
  } catch (error) {
    const { message, code, errno, syscall, path } = error as NodeJS.ErrnoException
    const given = Object.entries({ code, errno, syscall, path }).filter(([, value]) => value !== undefined)
    port.postMessage({
      kind: 'failed',
      error: { message, ...Object.fromEntries(given) },
    } satisfies FromPieceThread)
  }
}

port.on('message', (message: ToPieceThread) => void handle(message))
