/** Errors of Node's modules `fs` and `net`, as a DurlogError with the reason and the remedy. */
import { DurlogError, type DurlogErrorCode } from './errors.js'

interface Explanation {
  code: DurlogErrorCode
  /** Replaces the message of the system, which names no remedy. */
  text?: string
}

const FILE_FOR_FOLDER = {
  code: 'ERR_DURLOG_NOT_A_LOG',
  text: 'a file is in the place of this folder or of one above it: remove or rename the file, or choose another folder',
} as const
const TOO_MANY_FILES: Explanation = {
  code: 'ERR_DURLOG_TOO_MANY_FILES',
  text: 'Too many open files: close files, or raise the limit (ulimit -n)',
}
const NO_PERMISSION: Explanation = {
  code: 'ERR_DURLOG_IO',
  text: 'permission denied: the user of this process needs the right to read and write the folder and its files',
}

const EXPLANATIONS: ReadonlyMap<string, Explanation> = new Map([
  ['ENOSPC', { code: 'ERR_DURLOG_NO_SPACE', text: 'No space left on device: free some space' }],
  ['EDQUOT', { code: 'ERR_DURLOG_NO_SPACE' }],
  ['EFBIG', { code: 'ERR_DURLOG_NO_SPACE' }],
  ['EMFILE', TOO_MANY_FILES],
  ['ENFILE', TOO_MANY_FILES],
  ['ENOMEM', { code: 'ERR_DURLOG_OUT_OF_MEMORY' }],
  ['ENOTDIR', FILE_FOR_FOLDER],
  ['EACCES', NO_PERMISSION],
  ['EPERM', NO_PERMISSION],
  ['EROFS', { code: 'ERR_DURLOG_IO', text: 'the file system is read-only: choose a folder on another one' }],
])

function explain(errnoName: string, syscall: string | undefined): Explanation {
  if (errnoName === 'EEXIST' && syscall === 'mkdir') return FILE_FOR_FOLDER
  return EXPLANATIONS.get(errnoName) ?? { code: 'ERR_DURLOG_IO' }
}

export function fileForFolder(path: string): DurlogError {
  return new DurlogError(FILE_FOR_FOLDER.code, `${FILE_FOR_FOLDER.text} [${path}]`, { path })
}

/**
 * Converts an error of Node's modules, or an ERR_DURLOG_IO of the core for a file outside a log, to a DurlogError with
 * the code for its errno. Returns any other error unchanged.
 */
export function ofFileSystem(error: unknown): unknown {
  const { errno, code, syscall, message, path, address } = error as NodeJS.ErrnoException & { address?: string }
  if (errno === undefined || code === undefined) return error
  const ofCore = error instanceof DurlogError
  const errnoName = ofCore ? (error.errnoName ?? '') : code
  const explained = explain(errnoName, syscall)
  if (ofCore && (error.code !== 'ERR_DURLOG_IO' || explained.code === 'ERR_DURLOG_IO')) return error
  const place = path ?? address
  // The message of the core explains the error already.
  const isExplained = ofCore || explained.text === undefined
  const text = `${syscall}: ${explained.text}${place === undefined ? '' : ` [${place}]`}`
  return new DurlogError(explained.code, isExplained ? message : text, {
    errno: Math.abs(errno),
    errnoName,
    ...(syscall !== undefined && { syscall }),
    ...(place !== undefined && { path: place }),
    cause: error,
  })
}
