/** Reads records of streams as bodies of answers, from the files and from memory. */
import { isCode } from '../../errors.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import { TimeSlice } from '../../support/time-slice.js'
import type { Body, BodyRead } from '../port/body.js'
import { codecOf, ENCODING_NUMBERS } from '../port/encoding.js'
import { decodedText, LONG_TEXT_BYTES } from '../port/long-text.js'
import type { StreamEncoding } from '../port/types.js'
import type { MemTable } from '../state/mem-table.js'
import type { FileDisk, StreamState } from '../state/state.js'
import { checkKept, placeOf } from './record-source.js'
import { changedFile, StreamFile, type StreamFolder } from './stream-file.js'

/** A file of a stream. */
export interface BodyFile {
  /** The name of the stream. */
  name: string
  encoding: StreamEncoding
  fileName: string
  disk: FileDisk
}

/** The seqs from `from` to `to` - 1. */
export interface SeqRange {
  from: number
  to: number
}

/** A read of records from a file, which are `size` bytes in the body. */
export interface FileRead extends BodyRead {
  size: number
}

/** Adds records of `state`, which must be visible, to `body`: see `ServedPort.read`. */
export async function readBody(
  folder: StreamFolder,
  memTable: MemTable,
  state: StreamState,
  { from, to }: SeqRange,
  body: Body,
): Promise<BodyRead> {
  if (from >= to) return { next: from, timeMs: undefined }
  const { owner, end, file: disk } = placeOf(state, from)
  if (disk === undefined) return readMemTable(memTable, owner, { from, to: Math.min(to, end) }, body)
  const { name, meta } = owner
  const file = { name, encoding: meta.encoding, fileName: owner.fileName(disk.first), disk }
  try {
    const { size, ...read } = await readFileBody(folder, file, { from, to: Math.min(to, end, disk.next) }, body)
    body.stored(size)
    return read
  } catch (error) {
    // The file may be missing because retention or a deletion has removed it.
    if (isCode(error, 'ERR_DURLOG_STREAM_CHANGED')) checkKept(state, from)
    throw ofFileSystem(error)
  }
}

/** Stores records of `file`, which must have them, into the room of `body`. The caller adds them with `Body.stored`. */
export async function readFileBody(
  folder: StreamFolder,
  file: BodyFile,
  range: SeqRange,
  body: Body,
): Promise<FileRead> {
  const { name, encoding, fileName, disk } = file
  const { from } = range
  let { to } = range
  for (;;) {
    const read = await folder.storage.readBody(fileName, ENCODING_NUMBERS[encoding], disk, from, to, body.room)
    const { next, size, timeMs, needed, problem } = read
    if (problem !== '') {
      const damaged = next > from ? next : ((await damagedFrom(folder, file, from)) ?? from)
      if (damaged === from || damaged >= to)
        throw changedFile(name, folder.files.records(fileName, codecOf(encoding)), damaged, problem)
      // The intact records before the damaged one are delivered first.
      to = damaged
      continue
    }
    if (needed === 0 || !body.isEmpty) return { next, timeMs: next > from ? timeMs : undefined, size }
    body.grow(needed)
  }
}

/** As `StreamFile.damagedFrom`. Returns `from` if the record `from` cannot be read. */
async function damagedFrom(
  folder: StreamFolder,
  { name, encoding, fileName, disk }: BodyFile,
  from: number,
): Promise<number | undefined> {
  const file = new StreamFile(folder, { name, fileName: () => fileName }, codecOf(encoding))
  try {
    return await file.damagedFrom(disk, from)
  } catch {
    return from
  } finally {
    await file.close()
  }
}

async function readMemTable(
  memTable: MemTable,
  { unflushed, disk }: StreamState,
  { from, to }: SeqRange,
  body: Body,
): Promise<BodyRead> {
  const positionOf = (seq: number): number => unflushed.at(seq - disk.next)
  const timeMs = memTable.timeAt(positionOf(from))
  const slice = new TimeSlice()
  const dataOf = (seq: number): Buffer => memTable.at(positionOf(seq)).data
  const mostBytes = body.encoding === 'utf8' ? LONG_TEXT_BYTES : Number.POSITIVE_INFINITY
  let next = from
  if (dataOf(from).length > mostBytes) {
    if (body.addValue(await decodedText(dataOf(from)))) next++
    return { next, timeMs: next > from ? timeMs : undefined }
  }
  // The caller reads the other records after a turn of the event loop.
  for (; next < to && !slice.isOver(); next++) {
    const data = dataOf(next)
    if (data.length > mostBytes || !body.add(data)) break
  }
  return { next, timeMs: next > from ? timeMs : undefined }
}
