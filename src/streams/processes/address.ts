/** The address at which the owner of a folder of streams listens. */
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, constants, openSync } from 'node:fs'
import { lstat, readFile, realpath, rm, unlink, writeFile } from 'node:fs/promises'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { DurlogError } from '../../errors.js'
import { fileForFolder } from '../../support/file-system-error.js'
import { makeFolder, SAFE_FLAGS, takeOwner } from '../../support/new-files.js'

/** Every system allows at least this many bytes for the path of a socket. */
const PATH_MAX_BYTES = 100
/** The errors with which file systems refuse to create a socket. */
const NO_SOCKETS = ['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL', 'ENOSYS']
/** Without O_NONBLOCK a read would wait for the writer of a FIFO. */
const READ_ITSELF = { encoding: 'utf8', flag: constants.O_RDONLY | SAFE_FLAGS } as const

export interface Address {
  path: string
  /** Releases the resources of the path. */
  release(): void
}

/**
 * Returns the path to connect to: a socket in a folder that only this user can enter. It is in `owner/`, or at the path
 * in `owner/elsewhere`. '' if there is no owner yet. On Windows every user can create a pipe of any name, so the pipe
 * has a secret name that the owner has written to the folder.
 */
export async function addressOf(dir: string): Promise<Address> {
  const folder = join(dir, 'owner')
  if (process.platform === 'win32') return at(await readFile(join(folder, 'pipe'), 'utf8'))
  const elsewhere = await readFile(join(folder, 'elsewhere'), READ_ITSELF).catch(() => '')
  if (elsewhere !== '') {
    await checkPrivate(dirname(elsewhere))
    return at(elsewhere)
  }
  return (await isPrivate(folder)) ? addressIn(dir) : at('')
}

/**
 * Makes `server` listen, and returns its address. Only the process that has the folder's lock may call it. If the file
 * system has no modes or no sockets, the socket is in the folder for temporary files.
 */
export async function listenIn(dir: string, server: Server): Promise<Address> {
  const folder = join(dir, 'owner')
  await makeFolder(folder)
  for (const left of ['exclusive', 'elsewhere']) await rm(join(folder, left), { force: true })
  if (process.platform === 'win32') {
    const name = `\\\\.\\pipe\\durlog-${randomBytes(16).toString('hex')}`
    await writeFile(join(folder, 'pipe'), name, { mode: 0o600 })
    return listen(server, at(name))
  }
  if (await isPrivate(folder)) {
    try {
      return await listen(server, await addressIn(dir))
    } catch (error) {
      if (!NO_SOCKETS.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    }
  }
  const path = await temporaryPath(dir)
  await writeFile(join(folder, 'elsewhere'), path, { mode: 0o600, flag: 'wx' })
  takeOwner(join(folder, 'elsewhere'))
  return listen(server, at(path))
}

async function listen(server: Server, address: Address): Promise<Address> {
  try {
    // The socket of a dead owner. Because of the lock, no process listens on it.
    if (process.platform !== 'win32') await unlink(address.path).catch(() => {})
    await new Promise<void>((resolve, reject) => {
      // Later errors of the server are those of single connections.
      server.on('error', reject)
      server.listen({ path: address.path, backlog: 1024 }, resolve)
    })
    return address
  } catch (error) {
    address.release()
    throw error
  }
}

function at(path: string): Address {
  return { path, release: () => {} }
}

/** The address of the socket in `owner/`. */
async function addressIn(dir: string): Promise<Address> {
  const direct = join(dir, 'owner', 'socket')
  if (Buffer.byteLength(direct) <= PATH_MAX_BYTES) return at(direct)
  if (process.platform !== 'linux') return at(await temporaryPath(dir))
  const descriptor = openSync(join(dir, 'owner'), 'r')
  return { path: `/proc/self/fd/${descriptor}/socket`, release: () => closeSync(descriptor) }
}

/** The path of a socket in a folder of this user in the folder for temporary files. */
async function temporaryPath(dir: string): Promise<string> {
  const short = join(tmpdir(), `durlog-${process.getuid?.()}-${hashOf(await realpath(dir))}`)
  await makeFolder(short)
  await checkPrivate(short)
  return join(short, 'socket')
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
  const marked = await readFile(join(dir, 'owner', 'exclusive'), READ_ITSELF).catch(() => '')
  return marked !== '' && (pid === undefined || Number(marked) === pid)
}

function hashOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16)
}

/** Whether only this user can enter `folder`, so that no other one can answer or connect. */
async function isPrivate(folder: string): Promise<boolean> {
  const found = await lstat(folder)
  if (found.isFile()) throw fileForFolder(folder)
  const { uid, mode } = found
  return (uid === process.geteuid?.() || process.geteuid?.() === 0) && (mode & 0o077) === 0
}

async function checkPrivate(folder: string): Promise<void> {
  if (await isPrivate(folder)) return
  throw new DurlogError(
    'ERR_DURLOG_INVALID_ARGUMENT',
    `the folder ${folder} must belong to this user and have mode 0700, because processes connect to each other through it: end the processes of other users that have these streams open, or set TMPDIR to a folder of this user on a file system with modes`,
    { path: folder },
  )
}
