/**
 * Trim requests to a log's writers. Each request is a separate file in the log's folder: see docs/FORMAT.md. Therefore
 * a writer that has served a request removes only that request, even if others were made in the meantime, and any
 * number of writers may serve the same request.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, constants, existsSync, fstatSync, openSync, readSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DurlogError } from '../../errors.js'
import { native } from '../../native/native.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import { SAFE_FLAGS } from '../../support/new-files.js'

const PREFIX = 'trim-request-'
const NAME = /^trim-request-[0-9a-f]{16}$/
const LINE = /^([0-9a-f-]{36}) (\d{1,16})( seal)?(?: keep (\d{1,16}))?(?: generation (\d{1,16}))?\n$/
/** The length up to which the line of a request is read. A longer line is not a request. */
const MAX_BYTES = 128
/** A file without a valid line that is older than this is an unfinished request, and is removed. */
const UNFINISHED_MS = 60_000

export interface TrimBounds {
  /** The segments whose records are all below this seq are to be removed. */
  before: number
  /** The segments whose records are all below this seq are to be removed even if a cursor has not passed them. */
  regardless: number
}

export interface TrimRequest extends TrimBounds {
  /** Whether the active segment is to be sealed first if every record of the log is below `before`. */
  seal: boolean
  /** The log's generation before the request was made. */
  generation: number
}

/** Resolves with the name of the request once it is durable. */
export async function writeTrimRequest(dir: string, uuid: string, request: TrimRequest): Promise<string> {
  const { before, regardless, seal, generation } = request
  const keep = regardless < before ? ` keep ${regardless}` : ''
  const made = generation > 0 ? ` generation ${generation}` : ''
  const line = `${uuid} ${before}${seal ? ' seal' : ''}${keep}${made}\n`
  for (;;) {
    const name = `${PREFIX}${randomBytes(8).toString('hex')}`
    await native.addFile(dir, name, line)
    // If this process was stopped for a minute before it wrote the line, a writer has removed the file as unfinished.
    if (isTrimRequested(dir, name)) return name
  }
}

/** Lists the requests. A folder of 16,000 segments takes 9 ms, so a worker reads it. */
export async function trimRequests(dir: string): Promise<string[]> {
  try {
    const names = await native.names(dir, PREFIX)
    return names.filter((name) => NAME.test(name))
  } catch {
    // If the folder cannot be read, the calls that need it report the error.
    return []
  }
}

export function isTrimRequested(dir: string, name: string): boolean {
  return existsSync(join(dir, name))
}

/**
 * Reads a request. Undefined if the request is gone or still being written. Removes a request for another log, and a
 * request that was never finished. Reads on this thread, because all workers of Node's pool may be busy.
 */
export function readTrimRequest(dir: string, uuid: string, name: string): TrimRequest | undefined {
  const path = join(dir, name)
  try {
    const file = openSync(path, constants.O_RDONLY | SAFE_FLAGS)
    try {
      const stat = fstatSync(file)
      if (!stat.isFile()) throw notAFile(path)
      const bytes = Buffer.alloc(MAX_BYTES)
      const match = LINE.exec(bytes.toString('latin1', 0, readSync(file, bytes, 0, MAX_BYTES, 0)))
      if (match?.[1] === uuid) {
        const before = Number(match[2])
        const [regardless, generation] = [Number(match[4] ?? before), Number(match[5] ?? 0)]
        return { before, regardless, seal: match[3] !== undefined, generation }
      }
      if (match !== null || Date.now() - stat.mtimeMs > UNFINISHED_MS) removeTrimRequest(dir, name)
      return undefined
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (error instanceof DurlogError) throw error
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    // ELOOP: a symbolic link. ENXIO: a socket. EISDIR: a folder, on a system that refuses to open it.
    if (code === 'ELOOP' || code === 'EISDIR' || code === 'ENXIO') throw notAFile(path)
    throw ofFileSystem(error)
  }
}

/**
 * The bounds of a request, without the records that were appended after a truncation that is newer than the request.
 */
export async function currentBounds(dir: string, request: TrimRequest): Promise<TrimBounds> {
  const { before, regardless } = request
  const { lowest } = await native.cuts(dir, request.generation)
  if (lowest === -1) return { before, regardless }
  return { before: Math.min(before, lowest), regardless: Math.min(regardless, lowest) }
}

/** Removes a request that has been served. Succeeds if another writer has already removed it. */
export function removeTrimRequest(dir: string, name: string): void {
  try {
    rmSync(join(dir, name), { force: true })
  } catch (error) {
    throw ofFileSystem(error)
  }
}

function notAFile(path: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_A_LOG',
    `${path} has the name of a trim request and is not a regular file: remove it`,
    {
      path,
    },
  )
}
