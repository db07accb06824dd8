/**
 * Requests to a log's writers to trim, each a file of its own in the log's folder: see docs/FORMAT.md. So whoever has done
 * one removes that one, whatever is asked meanwhile, and any number of writers may do the same one.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, constants, existsSync, fstatSync, openSync, readdirSync, readSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DurlogError, ofFileSystem } from '../errors.js'
import { native } from '../native/native.js'

const NAME = /^trim-request-[0-9a-f]{16}$/
const LINE = /^([0-9a-f-]{36}) (\d{1,16})( seal)?\n$/
/** The longest line; what is longer is none. */
const MAX_BYTES = 64
/** A request that has no line yet was never finished if it is older. */
const UNFINISHED_MS = 60_000
/** No link is followed, and no FIFO waited for. Windows has neither flag. */
const ITSELF = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

export interface TrimRequest {
  /** Whole segments whose records are all before it are to go. */
  before: number
  /** If that is every record: the segment that is appended to is to be sealed first. */
  seal: boolean
}

/** Durable when it settles, with the name of the request. */
export async function writeTrimRequest(dir: string, uuid: string, request: TrimRequest): Promise<string> {
  const line = `${uuid} ${request.before}${request.seal ? ' seal' : ''}\n`
  for (;;) {
    const name = `trim-request-${randomBytes(8).toString('hex')}`
    await native.addFile(dir, name, line)
    // A writer removes it as unfinished if this process was stopped for long before the line was written.
    if (isTrimRequested(dir, name)) return name
  }
}

/** A call or two on this thread: once a second they cost less than the way to another one and back. */
export function trimRequests(dir: string): string[] {
  try {
    return readdirSync(dir).filter((name) => NAME.test(name))
  } catch {
    // Whatever is wrong with the folder is told by whoever needs it.
    return []
  }
}

export function isTrimRequested(dir: string, name: string): boolean {
  return existsSync(join(dir, name))
}

/**
 * Undefined if it is gone, or being written. A request for another log is removed, as is one that was never finished. Small
 * reads on this thread: a worker of Node's pool may be busy with anything.
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

/** Once it is done. Another writer may have removed it. */
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
    `${path} is named like a request to trim and is no regular file: remove it`,
    {
      path,
    },
  )
}
