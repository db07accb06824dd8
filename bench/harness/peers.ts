/**
 * Alternatives to durlog, each with the same two methods and measured if it is installed. With `durable`, the promise
 * of an append settles after the device was synced; otherwise, when the data is in the kernel's page cache.
 */
import { type FileHandle, open as openFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { groupCommit } from './group-commit.js'
import { PACKAGE_ROOT } from './package-root.js'

export interface PeerLog {
  append(data: Buffer): Promise<unknown>
  close(): Promise<unknown>
}

export interface Peer {
  name: string
  /** The npm package; undefined for a part of Node. */
  module?: string
  /** The calls and options with and without `durable`, for the table. */
  durableBy: string
  memoryBy: string
  open(folder: string, durable: boolean): Promise<PeerLog>
}

/** The folders in which peers may be installed: bench/peers of the repository, and the current folder. */
const PLACES = [`${join(PACKAGE_ROOT, 'bench/peers')}/`, `${process.cwd()}/`]

/** Loads a peer; undefined if it is not installed. */
export function load(name: string): unknown {
  for (const place of PLACES) {
    try {
      return createRequire(place)(name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    }
  }
  return undefined
}

export function isInstalled(peer: Pick<Peer, 'module'>): boolean {
  return peer.module === undefined || load(peer.module) !== undefined
}

export interface Lmdb {
  open(options: object): { put(key: number | Buffer, value: Buffer): Promise<boolean>; close(): Promise<void> }
}

const lmdb: Peer = {
  name: 'lmdb',
  module: 'lmdb',
  durableBy: 'put, overlappingSync: false',
  memoryBy: 'put, noSync: true',
  async open(folder, durable) {
    const database = (load('lmdb') as Lmdb).open({
      path: join(folder, 'lmdb'),
      encoding: 'binary',
      keyEncoding: 'uint32',
      noSync: !durable,
      // With overlapping sync, which is the default, `put` settles before the data is on the device.
      overlappingSync: false,
    })
    let key = 0
    return {
      append: (data) => {
        key += 1
        return database.put(key, data)
      },
      close: () => database.close(),
    }
  },
}

export interface Sqlite {
  pragma(text: string): unknown
  exec(text: string): unknown
  prepare(text: string): { run(...values: unknown[]): unknown }
  transaction<T>(body: (group: readonly T[]) => void): (group: readonly T[]) => void
  close(): void
}

const sqlite: Peer = {
  name: 'better-sqlite3',
  module: 'better-sqlite3',
  durableBy: 'WAL, synchronous=FULL, a transaction for each group',
  memoryBy: 'WAL, synchronous=OFF, a transaction for each group',
  async open(folder, durable) {
    const Database = load('better-sqlite3') as new (path: string) => Sqlite
    const database = new Database(join(folder, 'log.sqlite'))
    database.pragma('journal_mode = WAL')
    database.pragma(`synchronous = ${durable ? 'FULL' : 'OFF'}`)
    database.exec('CREATE TABLE log (seq INTEGER PRIMARY KEY, data BLOB NOT NULL)')
    const insert = database.prepare('INSERT INTO log (data) VALUES (?)')
    const commit = database.transaction((group: readonly Buffer[]) => {
      for (const data of group) insert.run(data)
    })
    return {
      append: groupCommit(async (group: readonly Buffer[]) => commit(group)),
      close: async () => database.close(),
    }
  },
}

export interface ClassicLevel {
  open(): Promise<void>
  batch(list: object[], options: { sync: boolean }): Promise<void>
  close(): Promise<void>
}

const classicLevel: Peer = {
  name: 'classic-level',
  module: 'classic-level',
  durableBy: 'batch, sync: true, for each group',
  memoryBy: 'batch, sync: false, for each group',
  async open(folder, durable) {
    const { ClassicLevel: Level } = load('classic-level') as {
      ClassicLevel: new (path: string, options: object) => ClassicLevel
    }
    const level = new Level(join(folder, 'level'), { keyEncoding: 'utf8', valueEncoding: 'buffer' })
    await level.open()
    let key = 0
    const commit = (group: readonly Buffer[]): Promise<void> => {
      const list = group.map((value) => {
        key += 1
        return { type: 'put', key: String(key).padStart(16, '0'), value }
      })
      return level.batch(list, { sync: durable })
    }
    return { append: groupCommit(commit), close: () => level.close() }
  },
}

interface SonicBoom {
  on(event: string, listener: (error: unknown) => void): void
  once(event: string, listener: () => void): void
  write(data: Buffer): boolean
  flush(done: (error?: Error) => void): void
  end(): void
}

const sonicBoom: Peer = {
  name: 'sonic-boom',
  module: 'sonic-boom',
  durableBy: 'flush (which syncs) for each group',
  memoryBy: 'drain for each group',
  async open(folder, durable) {
    const { SonicBoom: Boom } = load('sonic-boom') as { SonicBoom: new (options: object) => SonicBoom }
    const boom = new Boom({ dest: join(folder, 'boom.log'), contentMode: 'buffer', sync: false })
    await new Promise<void>((resolve, reject) => {
      boom.on('ready', () => resolve())
      boom.on('error', reject)
    })
    const commit = (group: readonly Buffer[]): Promise<void> =>
      new Promise((resolve, reject) => {
        for (const data of group) boom.write(data)
        if (durable) boom.flush((error) => (error ? reject(error) : resolve()))
        else boom.once('drain', resolve)
      })
    const close = (): Promise<void> =>
      new Promise((resolve) => {
        boom.on('close', () => resolve())
        boom.end()
      })
    return { append: groupCommit(commit), close }
  },
}

async function openAppending(folder: string): Promise<FileHandle> {
  return openFile(join(folder, 'node.log'), 'a')
}

const fsPromises: Peer = {
  name: 'fs.promises',
  durableBy: 'write + datasync',
  memoryBy: 'write',
  async open(folder, durable) {
    const handle = await openAppending(folder)
    const append = async (data: Buffer): Promise<void> => {
      await handle.write(data)
      if (durable) await handle.datasync()
    }
    return { append, close: () => handle.close() }
  },
}

const jsGroupCommit: Peer = {
  name: 'group commit in JS',
  durableBy: 'writev + datasync for each group',
  memoryBy: 'writev for each group',
  async open(folder, durable) {
    const handle = await openAppending(folder)
    const commit = async (group: readonly Buffer[]): Promise<void> => {
      await handle.writev(group)
      if (durable) await handle.datasync()
    }
    return { append: groupCommit(commit), close: () => handle.close() }
  },
}

export const peers: readonly Peer[] = [lmdb, sqlite, classicLevel, sonicBoom, fsPromises, jsGroupCommit]
