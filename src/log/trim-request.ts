/** A request to a log's writer, by a file in the log's folder, to trim: see docs/FORMAT.md. */
import { constants, existsSync, promises } from 'node:fs'
import { join } from 'node:path'
import { DurlogError, ofFileSystem } from '../errors.js'

const FILE_NAME = 'trim-request'
const LINE = /^([0-9a-f-]{36}) (\d{1,16})( seal)?\n$/
/** The longest line; what is longer is none. */
const MAX_BYTES = 64
/** No link is followed, and no FIFO waited for. Windows has neither flag. */
const ITSELF = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

export interface TrimRequest {
  /** Whole segments whose records are all before it are to go. */
  before: number
  /** If that is every record: the segment that is appended to is to be sealed first. */
  seal: boolean
}

/** Durable when it settles. Takes the place of an earlier request. */
export async function writeTrimRequest(dir: string, uuid: string, request: TrimRequest): Promise<void> {
  const line = `${uuid} ${request.before}${request.seal ? ' seal' : ''}\n`
  await withFile(dir, constants.O_WRONLY | constants.O_CREAT, async (file) => {
    await file.truncate()
    await file.writeFile(line)
    await file.sync()
  })
}

/** One system call, on this thread: once a second it costs less than the way to another one and back. */
export function isTrimRequested(dir: string): boolean {
  return existsSync(join(dir, FILE_NAME))
}

/** Undefined without one. One that is for another log is removed; one that is being written is found the next time. */
export async function readTrimRequest(dir: string, uuid: string): Promise<TrimRequest | undefined> {
  const text = await withFile(dir, constants.O_RDONLY, async (file) => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0)
    return buffer.toString('latin1', 0, bytesRead)
  })
  const match = LINE.exec(text ?? '')
  if (match === null) return undefined
  if (match[1] === uuid) return { before: Number(match[2]), seal: match[3] !== undefined }
  await removeFile(dir)
  return undefined
}

/** Once it is done. Another writer of the log may have done it before, and a new request may be there since. */
export async function removeTrimRequest(dir: string, uuid: string, done: TrimRequest): Promise<void> {
  const found = await readTrimRequest(dir, uuid)
  if (found?.before === done.before && found.seal === done.seal) await removeFile(dir)
}

async function removeFile(dir: string): Promise<void> {
  try {
    await promises.rm(join(dir, FILE_NAME), { force: true })
  } catch (error) {
    throw ofFileSystem(error)
  }
}

/** Undefined if there is no such file. What is no regular file is left alone. */
async function withFile<T>(
  dir: string,
  flags: number,
  use: (file: promises.FileHandle) => Promise<T>,
): Promise<T | undefined> {
  const path = join(dir, FILE_NAME)
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
