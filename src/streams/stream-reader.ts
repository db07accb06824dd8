/** Iterates over the records of one stream: from its file up to the last checkpoint, then from memory. */
import { DurlogError } from '../errors.js'
import { noSuchStream } from './decide.js'
import type { StreamCodec } from './encoding.js'
import type { FolderFiles } from './folder-files.js'
import type { StreamState } from './state.js'
import { StreamFile } from './stream-file.js'
import type { StreamTable } from './table.js'
import type { StreamReadOptions, StreamRecord } from './types.js'

/** Records of memory that are delivered before the state is looked at again. */
const TAIL_RECORDS = 1024

export interface ReadContext {
  files: FolderFiles
  codec: StreamCodec
  /** The newest one: it is replaced when it is loaded again. */
  table(): StreamTable
  /** Throws once the folder is closed. */
  checkOpen(): void
}

export async function* readStream<V>(
  context: ReadContext,
  name: string,
  { from, follow = false, signal }: StreamReadOptions,
): AsyncGenerator<StreamRecord<V>, void, undefined> {
  const file = new StreamFile(context.files, name, context.codec)
  let next = from
  let created: number | undefined
  /** Without `follow`: the seq before which it finishes. */
  let end = Number.POSITIVE_INFINITY
  try {
    for (;;) {
      signal?.throwIfAborted()
      context.checkOpen()
      const state = context.table().find(name)
      if (state !== undefined) {
        if (created === undefined) {
          created = state.created
          if (!follow) end = state.visible
        }
        next ??= state.disk.first
        if (created !== state.created) throw deletedStream(name)
        for (const record of await nextRecords<V>(state, next, file, context.codec)) {
          signal?.throwIfAborted()
          if (next >= end) return
          next++
          yield record
        }
        if (next < Math.min(state.visible, end)) continue
        if (state.endVisible || !follow) return checkStart(state, next)
      } else {
        if (created !== undefined) throw deletedStream(name)
        if (!follow) throw noSuchStream(name)
      }
      // It may have changed while the file was read. Nothing is awaited between this look and the wait.
      const now = context.table().find(name)
      const unchanged = now === state && (now === undefined || ((next ?? 0) >= now.visible && !now.endVisible))
      if (unchanged) await changeOf(context.table(), name, signal)
    }
  } catch (error) {
    const isFile = (error as DurlogError).code === 'ERR_DURLOG_STREAM_CHANGED'
    throw isFile && context.table().find(name)?.created !== created ? deletedStream(name) : error
  } finally {
    await file.close()
  }
}

/** Some visible records from `from` on; none if there is none yet. */
async function nextRecords<V>(
  state: StreamState,
  from: number,
  file: StreamFile,
  codec: StreamCodec,
): Promise<StreamRecord<V>[]> {
  const { disk, tail, visible } = state
  if (from < disk.first)
    throw new DurlogError(
      'ERR_DURLOG_OUT_OF_RANGE',
      `the stream "${state.name}" begins at seq ${disk.first}, and ${from} is lost: read from there`,
    )
  if (from < disk.next) return file.read<V>(disk, from)
  const end = Math.min(visible, from + TAIL_RECORDS)
  return tail.slice(from - disk.next, Math.max(end - disk.next, 0)).map(({ data, timeMs, position }, at) => ({
    seq: from + at,
    value: codec.decode(data) as V,
    timestamp: timeMs,
    position,
  }))
}

/** A reader that began after the end of the stream has an error in its `from`. */
function checkStart(state: StreamState, next: number): void {
  if (next > state.visible)
    throw new DurlogError(
      'ERR_DURLOG_OUT_OF_RANGE',
      `the stream "${state.name}" has ${state.visible} records; there is no seq ${next} yet: use follow to wait for it`,
    )
}

function deletedStream(name: string): DurlogError {
  return new DurlogError('ERR_DURLOG_NOT_FOUND', `the stream "${name}" was deleted while it was read`)
}

/** Settles when something of the stream becomes visible; rejects with the signal's reason. */
function changeOf(table: StreamTable, name: string, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      forget()
      reject(signal?.reason)
    }
    const forget = table.onChange(name, () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    })
    signal?.addEventListener('abort', abort, { once: true })
  })
}
