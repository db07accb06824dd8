/** Errors of Node's modules `fs` and `net`, as a DurlogError with the code and the text that the core has for them. */
import { constants } from 'node:os'
import { DurlogError } from '../errors.js'
import { native } from '../native/native.js'

export function fileForFolder(path: string): DurlogError {
  const { code, message } = native.errorOfErrno(constants.errno.ENOTDIR)
  return new DurlogError(code, `${message} [${path}]`, { path })
}

/**
 * The system's number for an error of Node; undefined if only Node has one. libuv has other numbers than Windows, and
 * no name for some errors of Linux, for example EDQUOT.
 */
function systemErrno(name: string, ofNode: number): number | undefined {
  const errno = constants.errno[name as keyof typeof constants.errno] ?? Math.abs(ofNode)
  return errno < 1000 ? errno : undefined
}

/**
 * Converts an error of Node's modules to a DurlogError with the code for its errno. Returns any other unchanged.
 * `opened` is the path for an error that has none, because the file or folder was open already.
 */
export function ofFileSystem(error: unknown, opened?: string): unknown {
  const { errno: ofNode, code, syscall, message, path, address } = error as NodeJS.ErrnoException & { address?: string }
  if (ofNode === undefined || code === undefined || error instanceof DurlogError) return error
  const errno = systemErrno(code, ofNode)
  const isFileForFolder = code === 'EEXIST' && syscall === 'mkdir'
  const known = errno === undefined ? undefined : native.errorOfErrno(isFileForFolder ? constants.errno.ENOTDIR : errno)
  const place = path ?? address ?? opened
  const text = `${syscall}: ${known?.message}${place === undefined ? '' : ` [${place}]`}`
  return new DurlogError(known?.code ?? 'ERR_DURLOG_IO', known === undefined ? message : text, {
    // Without its name, which DurlogError finds.
    ...(errno === undefined ? { errno: Math.abs(ofNode), errnoName: code } : { errno }),
    ...(syscall !== undefined && { syscall }),
    ...(place !== undefined && { path: place }),
    cause: error,
  })
}

/**
 * Waits for a module of this package that is loaded when it is first used. A process without a free descriptor cannot
 * load it.
 */
export async function loaded<Module>(module: Promise<Module>): Promise<Module> {
  try {
    return await module
  } catch (error) {
    throw ofFileSystem(error)
  }
}
