/**
 * Requests to a log's writers to trim, each in a separate file in the log's folder: see docs/FORMAT.md. So a writer
 * that has served a request removes only that one, even if others are made meanwhile, and any number of writers may
 * serve the same one.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, constants, existsSync, fstatSync, openSync, readdirSync, readSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DurlogError, ofFileSystem } from '../../errors.js'
import { native } from '../../native/native.js'

const NAME = /^trim-request-[0-9a-f]{16}$/
const LINE = /^([0-9a-f-]{36}) (\d{1,16})( seal)?\n$/
/** The longest line. A longer one is not a request. */
const MAX_BYTES = 64
/** A request older than this that has no line yet was never finished. */
const UNFINISHED_MS = 60_000
/** Refuses links, and does not wait for a FIFO. Windows has neither flag. */
const ITSELF = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

export interface TrimRequest {
  /** Whole segments whose records are all below this seq are to be removed. */
  before: number
  /** If that includes every record, the active segment is to be sealed first. */
  seal: boolean
}

/** Resolves with the name of the request once it is durable. */
export async function writeTrimRequest(dir: string, uuid: string, request: TrimRequest): Promise<string> {
  const line = `${uuid} ${request.before}${request.seal ? ' seal' : ''}\n`
  for (;;) {
    const name = `trim-request-${randomBytes(8).toString('hex')}`
    await native.addFile(dir, name, line)
    // A writer removes it as unfinished if this process was stopped for long before the line was written.
    if (isTrimRequested(dir, name)) return name
  }
}

/** Makes one or two calls on this thread: once a second they cost less than a change to another thread and back. */
export function trimRequests(dir: string): string[] {
  try {
    return readdirSync(dir).filter((name) => NAME.test(name))
  } catch {
    // If the folder cannot be read, the calls that need it report the error.
    return []
  }
}

export function isTrimRequested(dir: string, name: string): boolean {
  return existsSync(join(dir, name))
}

/**
 * Undefined if the request is gone or being written. A request for another log is removed, and so is one that was never
 * finished. Makes small reads on this thread, because the workers of Node's pool may all be busy.
 */
export function readTrimRequest(dir: string, uuid: string, name: string): TrimRequest | undefined {
  const path = join(dir, name)
  try {
    const file = openSync(path, constants.O_RDONLY | ITSELF)
    try {
      const stat = fstatSync(file)
      if (!stat.isFile()) throw notAFile(path)
      const bytes = Buffer.alloc(MAX_BYTES)
      const match = LINE.exec(bytes.toString('latin1', 0, readSync(file, bytes, 0, MAX_BYTES, 0)))
      if (match?.[1] === uuid) return { before: Number(match[2]), seal: match[3] !== undefined }
      if (match !== null || Date.now() - stat.mtimeMs > UNFINISHED_MS) removeTrimRequest(dir, name)
      return undefined
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (error instanceof DurlogError) throw error
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    // A link; a folder; a FIFO without a reader.
    if (code === 'ELOOP' || code === 'EISDIR' || code === 'ENXIO') throw notAFile(path)
    throw ofFileSystem(error)
  }
}

/** Removes a request that has been served. Another writer may have removed it before. */
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
