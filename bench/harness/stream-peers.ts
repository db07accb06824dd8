/**
 * Alternatives to `durlog/streams`: each keeps the records of many streams so that one stream can be read in order, as
 * an event store does. The promise of an append settles after the device was synced.
 */
import { type FileHandle, open as openFile } from 'node:fs/promises'
import { join } from 'node:path'
import { groupCommit } from './group-commit.js'
import { type ClassicLevel, type Lmdb, load, type Sqlite } from './peers.js'

export interface StreamPeerLog {
  /** Appends to the stream with the number `stream`, from 0 on. */
  append(stream: number, data: Buffer): Promise<unknown>
  close(): Promise<unknown>
}

export interface StreamPeer {
  name: string
  /** The npm package; undefined for a part of Node. */
  module?: string
  open(folder: string, streams: number): Promise<StreamPeerLog>
}

interface Row {
  stream: number
  position: number
  data: Buffer
}

/** Returns a function that gives each record of a stream its position, from 0 on. */
function positions(streams: number): (stream: number) => number {
  const next = new Uint32Array(streams)
  return (stream) => {
    const position = next[stream] as number
    next[stream] = position + 1
    return position
  }
}

/** A key whose order is that of streams, then of positions. */
function keyOf(stream: number, position: number): Buffer {
  const key = Buffer.allocUnsafe(8)
  key.writeUInt32BE(stream)
  key.writeUInt32BE(position, 4)
  return key
}

const lmdb: StreamPeer = {
  name: 'lmdb',
  module: 'lmdb',
  async open(folder, streams) {
    const database = (load('lmdb') as Lmdb).open({
      path: join(folder, 'lmdb'),
      encoding: 'binary',
      keyEncoding: 'binary',
      // With overlapping sync, which is the default, `put` settles before the data is on the device.
      overlappingSync: false,
    })
    const position = positions(streams)
    return {
      append: (stream, data) => database.put(keyOf(stream, position(stream)), data),
      close: () => database.close(),
    }
  },
}

const sqlite: StreamPeer = {
  name: 'better-sqlite3',
  module: 'better-sqlite3',
  async open(folder, streams) {
    const Database = load('better-sqlite3') as new (path: string) => Sqlite
    const database = new Database(join(folder, 'streams.sqlite'))
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = FULL')
    // With rowids: a table WITHOUT ROWID is slower, because each record then goes into a page of its stream.
    database.exec(
      'CREATE TABLE records (stream INTEGER, position INTEGER, data BLOB NOT NULL, UNIQUE (stream, position))',
    )
    const insert = database.prepare('INSERT INTO records VALUES (?, ?, ?)')
    const position = positions(streams)
    const commit = database.transaction((rows: readonly Row[]) => {
      for (const { stream, position, data } of rows) insert.run(stream, position, data)
    })
    const append = groupCommit(async (rows: readonly Row[]) => commit(rows))
    return {
      append: (stream, data) => append({ stream, position: position(stream), data }),
      close: async () => database.close(),
    }
  },
}

const classicLevel: StreamPeer = {
  name: 'classic-level',
  module: 'classic-level',
  async open(folder, streams) {
    const { ClassicLevel: Level } = load('classic-level') as {
      ClassicLevel: new (path: string, options: object) => ClassicLevel
    }
    const level = new Level(join(folder, 'level'), { keyEncoding: 'buffer', valueEncoding: 'buffer' })
    await level.open()
    const position = positions(streams)
    const append = groupCommit((rows: readonly Row[]) =>
      level.batch(
        rows.map(({ stream, position, data }) => ({ type: 'put', key: keyOf(stream, position), value: data })),
        { sync: true },
      ),
    )
    return {
      append: (stream, data) => append({ stream, position: position(stream), data }),
      close: () => level.close(),
    }
  },
}

/** A file for each stream. Appends to a stream that arrive during a sync are written and synced together. */
const filePerStream: StreamPeer = {
  name: 'a file per stream',
  async open(folder, streams) {
    const files: FileHandle[] = []
    for (let i = 0; i < streams; i += 1) files.push(await openFile(join(folder, `${i}.jsonl`), 'a'))
    const appends = files.map((file) =>
      groupCommit(async (lines: readonly Buffer[]) => {
        await file.write(Buffer.concat(lines))
        await file.datasync()
      }),
    )
    return {
      append: (stream, data) => (appends[stream] as (data: Buffer) => Promise<void>)(data),
      close: () => Promise.all(files.map((file) => file.close())),
    }
  },
}

export const streamPeers: readonly StreamPeer[] = [lmdb, sqlite, classicLevel, filePerStream]
