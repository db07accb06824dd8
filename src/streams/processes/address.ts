/** The address at which the owner of a folder of streams listens. */
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, constants, openSync } from 'node:fs'
import { lstat, readFile, realpath, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { DurlogError } from '../../errors.js'
import { fileForFolder } from '../../file-system-error.js'
import { makeFolder, takeOwner } from '../../new-files.js'

/** Every system allows at least this many bytes for the path of a socket. */
const PATH_MAX_BYTES = 100

export interface Address {
  path: string
  /** Releases the resources of the path. */
  release(): void
}

/**
 * Returns the path to connect to: a socket in a folder that only this user can enter. On Windows every user can create
 * a pipe of any name, so the pipe has a secret name that the owner has written to the folder.
 */
export async function addressOf(dir: string): Promise<Address> {
  const folder = join(dir, 'owner')
  if (process.platform === 'win32') return { path: await readFile(join(folder, 'pipe'), 'utf8'), release: () => {} }
  await checkPrivate(folder)
  const direct = join(folder, 'socket')
  if (Buffer.byteLength(direct) <= PATH_MAX_BYTES) return { path: direct, release: () => {} }
  if (process.platform === 'linux') {
    const descriptor = openSync(folder, 'r')
    return { path: `/proc/self/fd/${descriptor}/socket`, release: () => closeSync(descriptor) }
  }
  const short = join(tmpdir(), `durlog-${process.getuid?.()}-${hashOf(await realpath(dir))}`)
  await makeFolder(short)
  await checkPrivate(short)
  return { path: join(short, 'socket'), release: () => {} }
}

/** Returns the path to listen on. Only the process that has the folder's lock may call it. */
export async function newAddress(dir: string): Promise<Address> {
  const folder = join(dir, 'owner')
  await makeFolder(folder)
  await rm(join(folder, 'exclusive'), { force: true })
  if (process.platform === 'win32') {
    const name = `\\\\.\\pipe\\durlog-${randomBytes(16).toString('hex')}`
    await writeFile(join(folder, 'pipe'), name, { mode: 0o600 })
  }
  const address = await addressOf(dir)
  // The socket of a dead owner. Because of the lock, no process listens on it.
  if (process.platform !== 'win32') await unlink(address.path).catch(() => {})
  return address
}

/**
 * Stores in the folder that this process has its lock and does not share it, so that others do not wait for it to
 * listen.
 */
export async function markExclusive(dir: string): Promise<void> {
  await makeFolder(join(dir, 'owner'))
  const path = join(dir, 'owner', 'exclusive')
  // Writing would wait for the reader of a FIFO, and follow a symbolic link.
  await rm(path, { force: true })
  await writeFile(path, String(process.pid), { mode: 0o600, flag: 'wx' })
  takeOwner(path)
}

/**
 * Whether the process `pid`, which has the folder's lock, does not share the folder. The file may be that of a dead
 * process, so the pid is compared, unless it is not known, as that of a process in another PID namespace.
 */
export async function isExclusive(dir: string, pid: number | undefined): Promise<boolean> {
  // Without O_NONBLOCK the read would wait for the writer of a FIFO. Windows has neither.
  const flag = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)
  const marked = await readFile(join(dir, 'owner', 'exclusive'), { encoding: 'utf8', flag }).catch(() => '')
  return marked !== '' && (pid === undefined || Number(marked) === pid)
}

/** Identifies the folder itself. A copy of the folder has another id, even if it contains the socket as a hard link. */
export async function folderIdOf(dir: string): Promise<string> {
  const { dev, ino } = await stat(dir, { bigint: true })
  return `${dev}:${ino}`
}

function hashOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16)
}

/** Throws if another user could answer or connect. */
async function checkPrivate(folder: string): Promise<void> {
  const found = await lstat(folder)
  if (found.isFile()) throw fileForFolder(folder)
  const { uid, mode } = found
  const own = uid === process.geteuid?.() || process.geteuid?.() === 0
  if (own && (mode & 0o077) === 0) return
  throw new DurlogError(
    'ERR_DURLOG_INVALID_ARGUMENT',
    `the folder ${folder} must belong to this user and have mode 0700, because processes connect to each other through it: change its owner or its mode`,
    { path: folder },
  )
}
