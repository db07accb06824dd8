/** Reads the bytes of a piece, and sends requests. Runs in an archiver's worker thread or in the caller's thread. */
import { createHash } from 'node:crypto'
import { type FileHandle, open, stat } from 'node:fs/promises'
import http, { type IncomingHttpHeaders } from 'node:http'
import https from 'node:https'
import type { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { eraseSlot, HEADER_BYTES } from './piece.js'
import { loadZstd } from './zstd.js'

/** The longest response that is not read into given memory, such as a list. */
const ANSWER_BYTES = 16 * 2 ** 20
/** The length of the parts in which a piece is read while it is compressed. */
const READ_BYTES = 2 ** 20
/** Ids of NTFS and XFS may exceed 2^53. */
const BIGINT = { bigint: true } as const

/** The location of a piece: the header of the segment file `path`, and its bytes from `begin` to `end`. */
export interface PieceBytes {
  path: string
  begin: number
  end: number
}

/** The body of the object that stores a piece: the piece, or the compressed piece. */
export interface PieceBody {
  bytes: Buffer
  /** The SHA-256 of the body, and of the piece. */
  sha256: string
  pieceSha256: string
  isCompressed: boolean
}

export interface WireRequest {
  method: string
  url: string
  headers: Record<string, string>
}

export interface WireAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/**
 * Reads a piece, and compresses it if `compresses` is true and it is not too long. Rejects as `reading` and `loadZstd`.
 */
export async function readBody(
  from: PieceBytes,
  compresses: boolean,
  hash: (bytes: Uint8Array) => string | Promise<string>,
): Promise<PieceBody> {
  const zstd = compresses ? await loadZstd() : undefined
  const compressor = zstd?.streams?.compress(lengthOf(from))
  if (compressor !== undefined) return await reading(from.path, (file) => readCompressed(file, from, compressor))
  const piece = await reading(from.path, (file) => readWhole(file, from))
  const pieceSha256 = await hash(piece)
  const compressed = zstd?.compress?.(piece)
  if (compressed === undefined) return { bytes: piece, sha256: pieceSha256, pieceSha256, isCompressed: false }
  const bytes = Buffer.from(compressed.buffer, compressed.byteOffset, compressed.length)
  return { bytes, sha256: await hash(bytes), pieceSha256, isCompressed: true }
}

/**
 * Calls `read` with the file. Rejects with the code ESTALE if the file lost its name before or during the read: durlog
 * may reuse the file of a removed segment, so the bytes may belong to another segment.
 */
async function reading<Result>(path: string, read: (file: FileHandle) => Promise<Result>): Promise<Result> {
  const file = await open(path, 'r')
  try {
    const result = await read(file)
    const named = await stat(path, BIGINT)
    const opened = await file.stat(BIGINT)
    if (named.ino !== opened.ino) throw staleError(path)
    return result
  } finally {
    await file.close()
  }
}

export function lengthOf({ begin, end }: PieceBytes): number {
  return HEADER_BYTES + end - begin
}

async function readWhole(file: FileHandle, from: PieceBytes): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(lengthOf(from))
  await readFully(file, bytes.subarray(0, HEADER_BYTES), 0)
  eraseSlot(bytes)
  await readFully(file, bytes.subarray(HEADER_BYTES), from.begin)
  return bytes
}

/** Compresses a piece while it is read, so that only the result is in memory. */
async function readCompressed(file: FileHandle, from: PieceBytes, compressor: Transform): Promise<PieceBody> {
  const hashes = { piece: createHash('sha256'), body: createHash('sha256') }
  async function* parts(): AsyncGenerator<Buffer> {
    const ranges = [
      { at: 0, end: HEADER_BYTES },
      { at: from.begin, end: from.end },
    ]
    for (const { at: begin, end } of ranges) {
      for (let at = begin; at < end; at += READ_BYTES) {
        const part = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, end - at))
        await readFully(file, part, at)
        if (at === 0) eraseSlot(part)
        hashes.piece.update(part)
        yield part
      }
    }
  }
  // Memory that is not written takes no space. The result may be longer than the piece: by 3 bytes for each 128 KiB,
  // and a header.
  const memory = Buffer.allocUnsafeSlow(Math.ceil(lengthOf(from) * 1.001) + 1024)
  let length = 0
  await pipeline(parts, compressor, async (compressed: AsyncIterable<Buffer>) => {
    for await (const part of compressed) {
      hashes.body.update(part)
      length += part.copy(memory, length)
    }
  })
  const [pieceSha256, sha256] = [hashes.piece.digest('hex'), hashes.body.digest('hex')]
  return { bytes: memory.subarray(0, length), sha256, pieceSha256, isCompressed: true }
}

function staleError(path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`ESTALE: the file was replaced, ${path}`), { code: 'ESTALE' })
}

async function readFully(file: FileHandle, into: Buffer, position: number): Promise<void> {
  for (let done = 0; done < into.length; ) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done)
    if (bytesRead === 0) throw staleError('a segment that became shorter')
    done += bytesRead
  }
}

/** Computes the SHA-256 of `bytes` in the calling thread. */
export function hashNow(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/**
 * Sends `request` and returns the response, whose body is in the memory `into` if that is given. Does not follow
 * redirects, because another location needs another signature. Uses `http.request`, because `fetch` copies the body
 * several times, which costs seven times as much processor time.
 */
export function send(
  { method, url, headers }: WireRequest,
  body: Uint8Array | undefined,
  signal: AbortSignal,
  into?: Buffer,
): Promise<WireAnswer> {
  const { request } = url.startsWith('https:') ? https : http
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, signal }, (response) => {
      const chunks: Buffer[] = []
      let length = 0
      const limit = into?.length ?? ANSWER_BYTES
      response.on('data', (chunk: Buffer) => {
        length += chunk.length
        if (length > limit) response.destroy(new Error(`the response has more than ${limit} bytes`))
        else if (into === undefined) chunks.push(chunk)
        else chunk.copy(into, length - chunk.length)
      })
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode = 0, headers: given } = response
        const found = into === undefined ? Buffer.concat(chunks) : into.subarray(0, length)
        resolve({ status: statusCode, headers: given, body: found })
      })
    })
    sent.on('error', (error) => reject(signal.aborted ? signal.reason : error))
    sent.end(body)
  })
}
