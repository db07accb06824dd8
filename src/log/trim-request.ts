/**
 * Requests to a log's writers to trim, each a file of its own in the log's folder: see docs/FORMAT.md. So whoever has done
 * one removes that one, whatever is asked meanwhile, and any number of writers may do the same one.
 */
import { randomBytes } from 'node:crypto'
import { constants, existsSync, promises, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DurlogError, ofFileSystem } from '../errors.js'

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
    const kept = await withFile(dir, name, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, async (file) => {
      await file.writeFile(line)
      await file.sync()
      // It has none where this process was stopped for so long that the request was taken for an unfinished one.
      return (await file.stat()).nlink > 0
    })
    if (kept === true) return name
    if (kept === undefined) throw new DurlogError('ERR_DURLOG_NOT_FOUND', `there is no folder ${dir}`, { path: dir })
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

/** Undefined where it is gone, or being written. One that is for another log is removed, or was never finished. */
export async function readTrimRequest(dir: string, uuid: string, name: string): Promise<TrimRequest | undefined> {
  const found = await withFile(dir, name, constants.O_RDONLY, async (file) => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0)
    return { text: buffer.toString('latin1', 0, bytesRead), time: (await file.stat()).mtimeMs }
  })
  if (found === undefined) return undefined
  const match = LINE.exec(found.text)
  if (match?.[1] === uuid) return { before: Number(match[2]), seal: match[3] !== undefined }
  if (match !== null || Date.now() - found.time > UNFINISHED_MS) await removeTrimRequest(dir, name)
  return undefined
}

/** Once it is done. Another writer may have removed it. */
export async function removeTrimRequest(dir: string, name: string): Promise<void> {
  try {
    await promises.rm(join(dir, name), { force: true })
  } catch (error) {
    throw ofFileSystem(error)
  }
}

/** Undefined if there is no such file. What is no regular file is left alone. */
async function withFile<T>(
  dir: string,
  name: string,
  flags: number,
  use: (file: promises.FileHandle) => Promise<T>,
): Promise<T | undefined> {
  const path = join(dir, name)
  try {
    const file = await promises.open(path, flags | ITSELF, 0o600)
    try {
      if (!(await file.stat()).isFile()) throw notAFile(path)
      return await use(file)
    } finally {
      await file.close()
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    // A link; a folder; a FIFO that nobody reads.
    if (code === 'ELOOP' || code === 'EISDIR' || code === 'ENXIO') throw notAFile(path)
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
