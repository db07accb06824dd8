/** Tries the operations of a file system that logs and folders of streams need, besides those of a trial log. */
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Address, listenIn } from '../../streams/processes/address.js'
import { syncFolder } from '../../support/durable-files.js'
import { describeError, type Finding, fail, notChecked, ok, warn } from './finding.js'

/** Renames a file over another one, as a cursor's commit does, and syncs the folder, which a new segment needs. */
export async function tryRename(folder: string): Promise<Finding> {
  const [from, to] = [join(folder, 'new'), join(folder, 'old')]
  writeFileSync(to, 'old')
  writeFileSync(from, 'new')
  renameSync(from, to)
  if (readFileSync(to, 'utf8') !== 'new' || existsSync(from))
    return fail('rename', 'a rename did not replace the other file', 'put the log on another file system')
  await syncFolder(folder)
  return ok('rename', 'a rename replaces a file, and a folder can be synced')
}

/** Creates the socket over which the processes that share a folder of streams talk. */
export async function trySocket(folder: string): Promise<Finding> {
  if (process.platform === 'win32') return notChecked('socket', 'processes use a pipe')
  const server = createServer()
  let address: Address | undefined
  try {
    address = await listenIn(folder, server)
  } catch (error) {
    return warn(
      'socket',
      `a socket cannot be created: ${describeError(error)}`,
      'a log works; let only one process open a folder of streams ("exclusive"; serve without --shared)',
    )
  } finally {
    server.close()
    address?.release()
  }
  return ok('socket', 'several processes can open a folder of streams')
}

/** Reports whether names that differ only in case are the same. The names of durlog's files always differ in more. */
export function tryCase(folder: string): Finding {
  mkdirSync(join(folder, 'case'))
  const folds = existsSync(join(folder, 'CASE'))
  return ok('case', folds ? 'names that differ only in case are the same; durlog uses none' : 'names differ by case')
}

/** Creates a file, and returns its time and the clock before and after. */
export function readClocks(folder: string): { beforeMs: number; fileMs: number; nowMs: number } {
  const file = join(folder, 'clock')
  const beforeMs = Date.now()
  writeFileSync(file, '')
  const fileMs = statSync(file).mtimeMs
  return { beforeMs, fileMs, nowMs: Date.now() }
}
