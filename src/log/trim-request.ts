/** A request to a log's writer, by a file in the log's folder, to trim: see docs/FORMAT.md. */
import { existsSync, promises } from 'node:fs'
import { join } from 'node:path'
import { ofFileSystem } from '../errors.js'

const FILE_NAME = 'trim-request'
const LINE = /^([0-9a-f-]{36}) (\d{1,16})( seal)?\n$/

export interface TrimRequest {
  /** Whole segments whose records are all before it are to go. */
  before: number
  /** If that is every record: the segment that is appended to is to be sealed first. */
  seal: boolean
}

/** Durable when it settles. Takes the place of an earlier request. */
export function writeTrimRequest(dir: string, uuid: string, request: TrimRequest): Promise<void> {
  return told(async () => {
    const file = await promises.open(join(dir, FILE_NAME), 'w', 0o600)
    try {
      await file.writeFile(`${uuid} ${request.before}${request.seal ? ' seal' : ''}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
  })
}

/** One system call, on this thread: once a second it costs less than the way to another one and back. */
export function isTrimRequested(dir: string): boolean {
  return existsSync(join(dir, FILE_NAME))
}

/** Undefined without one. One that is for another log is removed; one that is being written is found the next time. */
export async function readTrimRequest(dir: string, uuid: string): Promise<TrimRequest | undefined> {
  const match = LINE.exec(await told(() => readIfThere(join(dir, FILE_NAME))))
  if (match === null) return undefined
  if (match[1] === uuid) return { before: Number(match[2]), seal: match[3] !== undefined }
  await removeTrimRequest(dir)
  return undefined
}

export function removeTrimRequest(dir: string): Promise<void> {
  return told(() => promises.rm(join(dir, FILE_NAME), { force: true }))
}

async function readIfThere(path: string): Promise<string> {
  try {
    return await promises.readFile(path, 'latin1')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw ofFileSystem(error)
  }
}
